"""What the daemon, the command line and servers share: the question service, its messages, rendering, the socket."""
