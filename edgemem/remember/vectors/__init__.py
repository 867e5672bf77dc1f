"""Vector files beside the database, and the search in them."""
