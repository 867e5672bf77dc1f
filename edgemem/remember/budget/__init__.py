"""Keeping below the byte budget: what fades, in which order, in steps of which size."""
