"""VAM as a plugin."""
