"""The parts of a transaction and of a view, table by table."""
