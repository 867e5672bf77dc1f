"""Recipes of EventMemAgent."""
