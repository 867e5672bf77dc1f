"""Time and failures of each component over past runs, stored beside the weights for `edgemem plugins`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from edgemem import files
from edgemem.extend.guard import GuardStats

if TYPE_CHECKING:
    from edgemem.extend.plugins import Plugins

_FILE = "plugin-stats.json"


def load_stats(home: Path) -> dict[str, GuardStats]:
    """Totals by `place/name`; empty if nothing ran yet or the file is damaged (these are only statistics)."""
    try:
        return msgspec.json.decode((home / _FILE).read_bytes(), type=dict[str, GuardStats])
    except (OSError, msgspec.DecodeError):
        return {}


def save_stats(home: Path, plugins: Plugins) -> None:
    """Add the counts since the last call to the totals. If the directory cannot be written, only these counts are lost."""
    totals = load_stats(home)
    for (place, name), guard in plugins.guards.items():
        if guard.stats.calls == 0:
            continue
        total = totals.setdefault(f"{place}/{name}", GuardStats())
        total.calls += guard.stats.calls
        total.failures += guard.stats.failures
        total.seconds = round(total.seconds + guard.stats.seconds, 6)
        total.last_failure = guard.stats.last_failure or total.last_failure
        guard.stats = GuardStats()
    try:
        files.make_directory(home)
        files.write_file(home / _FILE, msgspec.json.format(msgspec.json.encode(totals)))
    except OSError:
        return
