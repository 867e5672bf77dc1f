"""The files on disk: one SQLite file with its log and its key, and the limits of their sizes."""
