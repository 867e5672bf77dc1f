"""How the local planner goes about each kind of question."""
