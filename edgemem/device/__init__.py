"""The daemon that runs on a device."""
