"""Recipes of this plugin."""
