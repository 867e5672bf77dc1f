"""The memory: one writer, many as-of readers, one directory."""
