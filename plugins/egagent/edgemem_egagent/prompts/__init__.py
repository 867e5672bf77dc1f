"""What the language model is told, one file a task."""
