"""Time: integer microseconds UTC, the id of the boot, and text forms."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from edgemem.errors import UsageError
from edgemem.records import US

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST_US, _LAST_US = -62_135_500_000 * US, 253_402_200_000 * US
"""About a day after the year 1 began and before the year 9999 ends, so that every zone has them."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class TimeSource(Protocol):
    """Where this process has its time from: the machine, or a simulation that runs faster."""

    def now_us(self) -> int:
        """Wall time, microseconds since 1970 UTC."""
        ...

    def mono_us(self) -> int:
        """Monotonic time in microseconds."""
        ...

    def kernel_error_us(self) -> int | None:
        """Error bound of the wall clock; None if no time server synchronises it."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until the event is set, at most this long. Whether it is set."""
        ...


class SystemTime:
    """The clocks of this machine."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def mono_us(self) -> int:
        return time.monotonic_ns() // 1000

    def kernel_error_us(self) -> int | None:
        timex = _Timex()
        try:
            state = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
        except (AttributeError, OSError):
            return None
        return None if state < 0 or timex.status & _STA_UNSYNC else int(timex.maxerror)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)


_time: TimeSource = SystemTime()


@contextmanager
def time_from(source: TimeSource) -> Iterator[None]:
    """Within the block the whole process has its time from this source."""
    global _time  # noqa: PLW0603 - a process has one time
    before, _time = _time, source
    try:
        yield
    finally:
        _time = before


def now_us() -> int:
    """Wall time, microseconds since 1970 UTC. It may jump: a board without a clock battery starts in 1970."""
    return _time.now_us()


def mono_us() -> int:
    """Monotonic time of this boot in microseconds. It never jumps; it can be compared only within one `boot_id()`."""
    return _time.mono_us()


def monotonic_s() -> float:
    """Monotonic time in seconds, for waits and due times of the daemon and the pipeline."""
    return _time.mono_us() / US


def wait(event: threading.Event, seconds: float) -> bool:
    """Wait until the event is set, at most this long in the time of this process. Whether it is set."""
    return _time.wait(event, seconds)


@lru_cache(maxsize=1)
def boot_id() -> str:
    """The kernel's id of this boot, or "" if the system does not provide it."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


PLAUSIBLE_US = 1_577_836_800 * US
"""2020-01-01: a wall clock before this time was never set."""
UNTRUSTED_US = 1 << 62
"""Error bound of a clock that cannot be trusted."""
JUMP_US = 2 * US
"""A wall clock that differs by more than this from the monotonic clock was set."""
_SETTLE_US = 10 * US
"""How long a set clock must stay and be synchronised (as the kernel reports) before it replaces a plausible older anchor."""
_DRIFT = 500e-6
"""Growth of the error without synchronisation: the value that the kernel assumes (adjtimex, MAXFREQ)."""
_STA_UNSYNC = 0x40


class _Timex(ctypes.Structure):
    """Beginning of the kernel's `struct timex`, and space for the rest."""

    _fields_ = (
        ("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long), ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long), ("status", ctypes.c_int), ("rest", ctypes.c_byte * 256),
    )  # fmt: skip


def kernel_error_us() -> int | None:
    """The kernel's error bound of the wall clock; None if no time server synchronises it, or if the system does not provide it."""
    return _time.kernel_error_us()


class Stamp(NamedTuple):
    """A wall time, the monotonic time at which it was read, and its largest error."""

    t_us: int
    mono_us: int
    error_us: int

    @property
    def trusted(self) -> bool:
        return self.error_us < UNTRUSTED_US


class SteadyClock:
    """Wall time for a live stream: an anchor on the monotonic clock, so that setting the clock does not change the order of moments.

    A clock that was never set (before 2020) is untrusted, and its anchor is replaced as soon as the wall clock is plausible. If a plausible
    clock is then set (to 1970, +10 years, -1 hour), this is not followed: times continue from the anchor, untrusted, until the clock
    returns, or until the kernel reports the new time as synchronised for 10 s. Stored times of this boot must then be corrected: wall minus
    monotonic time has changed (`Transaction.reanchor`).
    """

    def __init__(
        self,
        wall: Callable[[], int] = now_us,
        mono: Callable[[], int] = mono_us,
        kernel: Callable[[], int | None] = kernel_error_us,
    ) -> None:
        self._wall, self._mono, self._kernel = wall, mono, kernel
        self._ahead_us = wall() - mono()
        self._anchored_us = mono()
        self._jumped_us: int | None = None
        self._last_us = -(2**63)

    def now(self) -> Stamp:
        """The time; always larger than before, unless the anchor has moved."""
        mono_us = self._mono()
        ahead_us = self._wall() - mono_us
        followed = self._follow(ahead_us, mono_us)
        self._last_us = max(self._last_us + 1, mono_us + self._ahead_us)
        return Stamp(self._last_us, mono_us, self._error_us(mono_us) if followed else UNTRUSTED_US)

    def _follow(self, ahead_us: int, mono_us: int) -> bool:
        """Whether the wall clock agrees with the anchor; moves the anchor if that is correct."""
        moved_us = ahead_us - self._ahead_us
        if abs(moved_us) <= JUMP_US:
            self._ahead_us, self._jumped_us = ahead_us, None
            return self._plausible(mono_us)
        self._jumped_us = mono_us if self._jumped_us is None else self._jumped_us
        known_wrong = not self._plausible(mono_us)
        confirmed = mono_us - self._jumped_us >= _SETTLE_US and self._kernel() is not None
        if mono_us + ahead_us < PLAUSIBLE_US or not (known_wrong or confirmed):
            return False
        self._ahead_us, self._anchored_us, self._jumped_us = ahead_us, mono_us, None
        self._last_us += moved_us  # earlier times move too, so the order is kept
        return True

    def _plausible(self, mono_us: int) -> bool:
        return mono_us + self._ahead_us >= PLAUSIBLE_US

    def _error_us(self, mono_us: int) -> int:
        known = self._kernel()
        return known if known is not None else JUMP_US + round((mono_us - self._anchored_us) * _DRIFT)


def to_iso(t_us: int) -> str:
    """ISO 8601 UTC with milliseconds, such as `2026-05-04T08:00:00.250Z`. Times outside the calendar are clamped to years 1..9999."""
    try:
        moment = _EPOCH + timedelta(microseconds=t_us)
    except OverflowError:
        moment = datetime(9999 if t_us > 0 else 1, 1, 1, tzinfo=timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{moment.microsecond // 1000:03d}Z"


def from_iso(text: str, tz: str = "UTC") -> int:
    """Microseconds of an ISO 8601 date or time. Without an offset it is in `tz`. Raises UsageError with an example."""
    cleaned = text.strip()
    if cleaned[-1:] in {"Z", "z"}:
        cleaned = cleaned[:-1] + "+00:00"
    try:
        moment = datetime.fromisoformat(cleaned)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone(tz))
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise UsageError(f'"{text[:60]}" is not an ISO 8601 time; write it like 2026-05-04T08:00:00Z') from None


def zone(name: str) -> ZoneInfo:
    """The IANA time zone `name`. Raises UsageError, which names it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f'"{name}" is not a time zone; write it like Europe/Berlin or UTC') from None


def to_local(t_us: int, tz: str = "UTC") -> datetime:
    """The same instant as an aware datetime in `tz`. Times that no calendar holds in every zone are clamped to years 1..9999."""
    return (_EPOCH + timedelta(microseconds=max(_FIRST_US, min(t_us, _LAST_US)))).astimezone(zone(tz))


def offset_text(offset_us: int) -> str:
    """A position in a stream as text: `0:42`, `12:05` or `1:02:03`."""
    seconds = max(0, offset_us) // US
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
