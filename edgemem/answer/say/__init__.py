"""From weighed evidence to an answer: only what was checked is said."""
