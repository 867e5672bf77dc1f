"""Forgetting: what belongs to a thing, out of the tables, out of the bytes."""
