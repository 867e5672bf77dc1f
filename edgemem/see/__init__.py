"""A frame's way, left to right: source, gate, select, segment, pipeline."""
