"""The contract with plugins."""
