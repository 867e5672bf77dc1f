"""Time: integer microseconds UTC, the boot it was read in, and how people write it."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from edgemem.errors import UsageError
from edgemem.records import US

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def now_us() -> int:
    """Wall time, microseconds since 1970 UTC. May jump: a board without a clock battery starts in 1970."""
    return time.time_ns() // 1000


def mono_us() -> int:
    """Monotonic time of this boot in microseconds. Never jumps; only comparable within one `boot_id()`."""
    return time.monotonic_ns() // 1000


@lru_cache(maxsize=1)
def boot_id() -> str:
    """The kernel's id of this boot, or "" where the system does not tell."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def to_iso(t_us: int) -> str:
    """ISO 8601 UTC with milliseconds, such as `2026-05-04T08:00:00.250Z`. Times that no calendar holds are clamped to years 1..9999."""
    try:
        moment = _EPOCH + timedelta(microseconds=t_us)
    except OverflowError:
        moment = datetime(9999 if t_us > 0 else 1, 1, 1, tzinfo=timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{moment.microsecond // 1000:03d}Z"


def from_iso(text: str, tz: str = "UTC") -> int:
    """Microseconds of an ISO 8601 date or time. Without an offset it is meant in `tz`. Raises UsageError with an example."""
    cleaned = text.strip()
    if cleaned[-1:] in {"Z", "z"}:
        cleaned = cleaned[:-1] + "+00:00"
    try:
        moment = datetime.fromisoformat(cleaned)
    except ValueError:
        raise UsageError(f'"{text[:60]}" is not an ISO 8601 time; write it like 2026-05-04T08:00:00Z') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone(tz))
    return (moment - _EPOCH) // timedelta(microseconds=1)


def zone(name: str) -> ZoneInfo:
    """The IANA time zone `name`. Raises UsageError naming it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f'"{name}" is not a time zone; write it like Europe/Berlin or UTC') from None


def to_local(t_us: int, tz: str = "UTC") -> datetime:
    """The same instant as an aware datetime in `tz`."""
    return (_EPOCH + timedelta(microseconds=t_us)).astimezone(zone(tz))


def offset_text(offset_us: int) -> str:
    """A place in a stream as people say it: `0:42`, `12:05` or `1:02:03`."""
    seconds = max(0, offset_us) // US
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
