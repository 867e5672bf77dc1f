"""Recipes of the core."""
