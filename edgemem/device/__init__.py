"""The board, the governor and the daemon."""
