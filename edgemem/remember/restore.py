"""The way back from a backup: a new memory, which is checked whole before it is one."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

from edgemem import files
from edgemem.errors import MemoryDirError, UsageError
from edgemem.remember.check import check_pages, check_rows
from edgemem.remember.disk import database, keys, schema
from edgemem.remember.disk.contents import PART_FILES, protect, remove_part
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.store import Store

_COPY_BYTES = 1 << 20


def restore(file: Path, directory: Path) -> None:
    """Make a new memory at `directory` from a backup. What a killed `restore` left there is begun anew.

    Raises UsageError when something is there, MemoryDirError when the file is no backup or not a sound one; nothing is left behind then.
    """
    if directory.exists() and (not directory.is_dir() or any(path.name not in PART_FILES for path in directory.iterdir())):
        raise UsageError(f"{directory} is not empty: a backup becomes a new memory; name a new directory")
    _require_backup(file)
    made = not directory.exists()
    part = directory / schema.PART
    with translated_errors(directory):
        files.make_directory(directory)
        protect(directory)
        try:
            remove_part(part)
            _copy(file, part)
            _require_sound(file, part)
            part.replace(directory / schema.DATABASE)
        finally:
            remove_part(part)
            if made and not any(directory.iterdir()):
                directory.rmdir()
    Store.open(directory, create=False).close()  # migrates it, and rebuilds the vector files


def _require_backup(file: Path) -> None:
    """Refuse what is no file, and no database of ours, before anything of it is copied."""
    try:
        files.require_file(file.stat(), file)
    except OSError as error:
        raise MemoryDirError(f"{file} cannot be read: {error.strerror}") from None
    with translated_errors(file), closing(database.connect(file.resolve(), keys.configured(), mode="immutable")) as connection:
        if schema.is_empty(connection):
            raise MemoryDirError(f"{file} is not a backup of a memory")
        schema.version_of(connection, file)  # raises an error if it is no memory, or a newer one


def _copy(file: Path, part: Path) -> None:
    with file.open("rb") as source, files.create(part) as target:
        shutil.copyfileobj(source, target, _COPY_BYTES)
        target.flush()
        os.fsync(target.fileno())


def _require_sound(file: Path, part: Path) -> None:
    """Bring the copy to the present schema and look at all of it. Raises MemoryDirError."""
    with translated_errors(file), closing(database.connect(part, keys.configured())) as connection:
        schema.configure(connection)
        found = check_pages(connection)
        if not found:
            schema.migrate(connection, schema.version_of(connection, file))
            found = check_rows(connection)
    if found:
        raise MemoryDirError(f"{file} is not a sound backup: {found[0]}" + (f" (and {len(found) - 1} more)" if len(found) > 1 else ""))
