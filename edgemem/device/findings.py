"""What `edgemem doctor` finds out about this machine: its clock, its disk, what this user may do, and the running agent."""

from __future__ import annotations

import os
import pwd
import sqlite3
import stat
from pathlib import Path
from typing import Literal, NamedTuple

from edgemem import clock, files
from edgemem.config import Settings, parse_bytes
from edgemem.remember.disk.directory import disk_bytes
from edgemem.secret import Secret
from edgemem.serve.client import AgentUnavailable, call
from edgemem.serve.messages import AgentStatus, StatusRequest

_GIB = 1 << 30
_WHY = "see why in its log: journalctl -u edgemem"
_AGENT_S = 2.0
"""How long the agent may take to say what it sees."""
_OLDEST_SQLITE = (3, 37, 0)
"""The first one with STRICT tables (sqlite.org/stricttables.html)."""
_FIXED_SQLITE = (3, 51, 3)
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs"})
"""File systems without the shared memory that SQLite's log needs (sqlite.org/wal.html, section 1)."""
_VOLATILE = frozenset({"tmpfs", "ramfs"})
_WITHOUT_OWNERS = frozenset({"vfat", "exfat", "msdos"})


class Finding(NamedTuple):
    """One line of the report. `level` is "ok", "note" (works, with a limit) or "missing"; `todo` says what to do, "" = nothing."""

    level: Literal["ok", "note", "missing"]
    what: str
    detail: str
    todo: str = ""


def sqlite_version() -> Finding:
    """The version of SQLite, and whether it can do what a memory needs."""
    connection = sqlite3.connect(":memory:")
    options = {row[0] for row in connection.execute("PRAGMA compile_options")}
    connection.close()
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE or "ENABLE_FTS5" not in options:
        why = "has no full-text search (FTS5)" if "ENABLE_FTS5" not in options else "older than 3.37"
        return Finding("missing", "sqlite", f"{sqlite3.sqlite_version}: {why}", "use a Python that is linked to a newer SQLite")
    if sqlite3.sqlite_version_info < _FIXED_SQLITE:
        safe = "older than 3.51.3, safe here because one connection does all writing and checkpoints"
        return Finding("note", "sqlite", f"{sqlite3.sqlite_version}; {safe}")
    return Finding("ok", "sqlite", sqlite3.sqlite_version)


def clock_state(error_us: int | None, now_us: int, rtc: Path = Path("/sys/class/rtc")) -> Finding:
    """Whether times can be trusted. `error_us`: the kernel's error bound, None = no time server synchronises it; `rtc`: where the kernel
    lists battery clocks.
    """
    battery = rtc.is_dir() and any(rtc.iterdir())
    server = "start a time server's client: `timedatectl set-ntp true`, or `apt-get install chrony`"
    if now_us < clock.PLAUSIBLE_US:
        said = f"says {clock.to_iso(now_us)}: it was never set; what is seen is dated as soon as it is"
        return Finding("missing", "clock", said, server)
    now = clock.to_iso(now_us)
    if error_us is None:
        return Finding("note", "clock", f"{now}, and no time server synchronises it: it may drift by up to 43 s a day", server)
    within = f"{now}, synchronised within {error_us / 1000:.0f} ms"
    if not battery:
        return Finding(
            "note", "clock", f"{within}; no battery clock: after a power loss times are unknown until a time server answers",
            "connect a battery clock (RTC) if the board is often without a network",
        )  # fmt: skip
    return Finding("ok", "clock", within)


def disk(settings: Settings, home: Path, mounts: Path = Path("/proc/self/mountinfo")) -> Finding:
    """Whether the memory's budget fits on its file system, and whether that file system can hold a memory."""
    memory = Path(settings.run.memory).expanduser() if settings.run.memory else home
    place = next(folder for folder in (memory, *memory.absolute().parents) if folder.is_dir())
    kind = _filesystem(place, mounts)
    space = os.statvfs(place)
    if kind in _NETWORK:
        return Finding("missing", "disk", f"{memory}: on a network file system ({kind})", "name a directory on a disk of this machine")
    if space.f_flag & os.ST_RDONLY:
        return Finding("missing", "disk", f"{memory}: its file system is read-only", "mount it for writing, or name another directory")
    free = space.f_bavail * space.f_frsize
    budget = parse_bytes(settings.budget.disk)
    used = disk_bytes(memory) if settings.run.memory and memory.is_dir() else 0
    sizes = f"{memory} ({kind}): {free / _GIB:.1f} GiB free, budget {budget / _GIB:.1f} GiB, used {used / _GIB:.1f} GiB"
    if free + used < budget:
        most = max(0.0, (free + used) * 0.95 / _GIB)
        return Finding(
            "note", "disk", f"{sizes}: the disk is full before the budget is", f"free space, or set budget.disk to {most:.1f}GiB"
        )
    if kind in _VOLATILE:
        return Finding("note", "disk", f"{sizes}; it is gone after a restart", "name a directory on a disk")
    if kind in _WITHOUT_OWNERS:
        return Finding("note", "disk", f"{sizes}; it knows no owners: everyone may read it", "use ext4 or another file system with owners")
    return Finding("ok", "disk", sizes)


def _filesystem(place: Path, mounts: Path) -> str:
    """The kind of the file system of a directory: that of the longest mount point above it (proc(5), /proc/pid/mountinfo)."""
    best, kind = "", "unknown"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return kind
    path = str(place.resolve())
    for line in lines:
        point = line.split()[4].encode().decode("unicode_escape")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, line.partition(" - ")[2].split()[0]
    return kind


def permissions(settings: Settings, settings_file: Path | None) -> list[Finding]:
    """Whether this user may write the memory, and whether others can read it or the settings."""
    found = []
    if os.geteuid() == 0:
        how = "install the service, which has a user of its own: tools/install_device.sh"
        found.append(Finding("note", "user", "root: a fault in what reads pictures and sound would have all rights", how))
    else:
        found.append(Finding("ok", "user", pwd_name(os.geteuid())))
    memory = Path(settings.run.memory).expanduser() if settings.run.memory else None
    if memory is not None and memory.is_dir():
        found.append(_memory_rights(memory))
    if settings_file is not None and settings_file.is_file() and settings_file.stat().st_mode & stat.S_IROTH and _has_secrets(settings):
        text = f"{settings_file}: everyone may read it, and it holds passwords"
        found.append(Finding("note", "settings", text, f"chmod 640 {settings_file}"))
    return found


def _memory_rights(memory: Path) -> Finding:
    status = memory.stat()
    owner = pwd_name(status.st_uid)
    if status.st_uid != os.geteuid():
        return Finding("missing", "memory", f"{memory} belongs to {owner}", f"run edgemem as that user: sudo -u {owner} edgemem ...")
    if files.open_to_others(status):
        return Finding("note", "memory", f"{memory}: others may read it", f"chmod 700 {memory}")
    return Finding("ok", "memory", f"{memory}, only for {owner}")


def pwd_name(user: int) -> str:
    """The name of a user, or the number where none has it."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _has_secrets(settings: Settings) -> bool:
    """Whether an address or the store has a password; tables of plugins count as secret where they name a key."""
    held = [*(spec.source for spec in settings.run.sources), *(value for table in settings.tables.values() for value in table.values())]
    return bool(settings.store.key_tpm_auth) or any(isinstance(value, Secret) for value in held)


def agent(settings: Settings) -> list[Finding]:
    """What the running agent of `run.memory` sees; nothing where no memory is configured."""
    if not settings.run.memory or not settings.run.sources:
        return []
    try:
        status = call(Path(settings.run.memory).expanduser(), StatusRequest(), AgentStatus, _AGENT_S)
    except AgentUnavailable as error:
        if error.expected:
            return [Finding("note", "agent", "does not run", "start it: systemctl start edgemem, or edgemem run --config FILE")]
        return [Finding("missing", "agent", f"does not answer: {error.why}", "see what it says: journalctl -u edgemem")]
    notes = [Finding("note", "agent", line, _WHY) for line in status.notes]
    blind = [f"{one.stream}: blind: {one.blind}" for one in status.streams if one.state == "blind"]
    if blind:
        return [*(Finding("missing", "agent", f"process {status.process}; {line}", "see the line of its camera") for line in blind), *notes]
    seen = ", ".join(f"{one.stream} ({one.state}, {one.frames} frames)" for one in status.streams)
    return [Finding("ok", "agent", f"process {status.process}: {seen}"), *notes]
