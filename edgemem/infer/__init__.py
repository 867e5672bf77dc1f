"""Models: a runtime loads what an engine card describes, and a decoder turns the output arrays into records."""
