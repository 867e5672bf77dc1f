"""Texts cut to a length, never silently."""

from __future__ import annotations


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of it; what was left out is said."""
    return text if len(text) <= limit else f"{text[:limit].rstrip()} … ({len(text) - limit} characters more)"
