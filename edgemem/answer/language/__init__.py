"""What a question says: its words, its times, what it asks for."""
