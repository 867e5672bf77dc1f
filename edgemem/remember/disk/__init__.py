"""What lies on the disk: one SQLite file with its log and its key, and how much of either there may be."""
