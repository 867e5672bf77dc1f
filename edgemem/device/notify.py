"""Messages to the service manager (sd_notify(3)): a datagram to the socket that it names; nothing if it names none."""

from __future__ import annotations

import contextlib
import os
import socket
import time


def send(state: str) -> None:
    """Send a message such as `READY=1`, `STATUS=...`, `WATCHDOG=1` or `STOPPING=1`. It does not fail if the manager does not listen."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # in Linux's abstract name space
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.sendto(state.encode("utf-8", "backslashreplace"), socket.MSG_DONTWAIT, address)


def reloading() -> None:
    """Tell the manager that the settings are read again; `READY=1` ends it. systemd wants the monotonic time of its begin."""
    send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def watchdog_s() -> float | None:
    """The manager expects a message within this number of seconds; None if it does not watch this process."""
    try:
        watched_us, process = int(os.environ.get("WATCHDOG_USEC", "0")), int(os.environ.get("WATCHDOG_PID", "0") or 0)
    except ValueError:
        return None
    return watched_us / 1_000_000 if watched_us > 0 and process in {0, os.getpid()} else None
