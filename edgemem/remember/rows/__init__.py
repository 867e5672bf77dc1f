"""What a transaction writes and a view reads, table by table."""
