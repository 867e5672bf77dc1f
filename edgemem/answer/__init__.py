"""A question's way, left to right: question, retrieve, tools, session, planner, check."""
