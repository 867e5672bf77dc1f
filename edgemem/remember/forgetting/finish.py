"""The end of a forgetting: after the rows are deleted, their bytes are wiped from the files.

A plain database is wiped in place (`wipe.py`). In an encrypted database these bytes can be read only with the key and cannot be changed
from outside; it is rewritten to a new file, which contains only its rows.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from edgemem.errors import MemoryDirError
from edgemem.remember.disk import keys, page_budget, schema
from edgemem.remember.disk.database import connect
from edgemem.remember.disk.directory import disk_bytes, remove_vectors
from edgemem.remember.disk.rewrite import rewrite
from edgemem.remember.forgetting.wipe import wipe

WIPE_DUE = "wipe_due"
"""Key in `meta`: something was forgotten, and the files must still be wiped. Its value is the id of the receipt."""
ERASE_DUE = "erase_due"
"""Key in `meta`: rows must still be deleted, before anything is wiped. Its value is the id of the receipt."""
READER_PATIENCE_S = 5.0
"""How long the wipe waits for a reader that prevents a cut of the log."""
_DONE = "DELETE FROM {}meta WHERE key = ?"


def is_due(connection: sqlite3.Connection) -> bool:
    """Whether only the wipe of a forgetting is left to do."""
    found = connection.execute("SELECT key FROM meta WHERE key IN (?, ?)", (WIPE_DUE, ERASE_DUE)).fetchall()
    return found == [(WIPE_DUE,)]


def erasing_due(connection: sqlite3.Connection) -> str | None:
    """Id of the receipt of a forgetting that was interrupted before all rows were deleted; None if there is none."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (ERASE_DUE,)).fetchone()
    return found[0] if found else None


def wipe_files(directory: Path, cap_bytes: int | None, *, patience_s: float | None = None) -> None:
    """Wipe forgotten data from the files, and note that this is done. For a caller that holds the writer's lock and no connection.

    Vector files are deleted: the next writer creates them again. An encrypted memory needs space for a second copy of its database, under
    `cap_bytes` if there is a cap. Raises MemoryDirError while a reader has the memory open, or if there is no space.
    """
    key = keys.configured()
    database = directory / schema.DATABASE
    if key is not None:
        _require_budget(directory, cap_bytes)
        rewrite(directory, key, key, lambda copy: copy.execute(_DONE.format("part."), (WIPE_DUE,)))
        return
    with closing(connect(database, None)) as connection:
        schema.configure(connection)
        _empty(connection, directory, page_budget.log_bytes(cap_bytes), READER_PATIENCE_S if patience_s is None else patience_s)
    wipe(database)
    remove_vectors(directory)
    with closing(connect(database, None)) as connection:
        schema.configure(connection)
        connection.execute(_DONE.format(""), (WIPE_DUE,))


def _empty(connection: sqlite3.Connection, directory: Path, log_bytes: int, patience_s: float) -> None:
    """Return every free page to the disk and cut the log to zero; until then the log stays below `log_bytes`."""
    connection.execute(f"PRAGMA busy_timeout={round(patience_s * 1000)}")
    free, before = 1, None
    while free and free != before:
        before = free
        connection.executescript(f"PRAGMA incremental_vacuum({max(1, log_bytes // 2 // page_budget.FRAME_BYTES)})")
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise MemoryDirError(
                f"memory {directory}: the data is forgotten, but a reader still holds old pages: end it, then run `edgemem memory compact`",
            )
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]


def _require_budget(directory: Path, cap_bytes: int | None) -> None:
    needed = disk_bytes(directory) + (directory / schema.DATABASE).stat().st_size
    if cap_bytes is not None and needed > cap_bytes:
        raise MemoryDirError(
            f"memory {directory}: the data is forgotten, but words of it may be in unused parts of the encrypted file, and rewriting it"
            f" needs {needed >> 20} MiB, more than budget.disk: `edgemem memory compact` does it anyway",
        )
