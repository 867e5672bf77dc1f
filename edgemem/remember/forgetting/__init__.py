"""Forgetting: selects what belongs to a thing, deletes it from the tables, and wipes its bytes from the files."""
