"""Shared by the daemon, the command line and servers: the question service, its messages, rendering, the socket."""
