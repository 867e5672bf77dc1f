"""Opens database files: plain SQLite without a key, SQLCipher (sqlcipher3) with one. No other module opens them.

Both have the same DB-API and the same SQL, so other modules need not know which one is in use. Only their exceptions differ: `errors`
returns both. SQLCipher encrypts every page with AES-256 and signs it with HMAC-SHA512, in the database, its log and its journals.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, cast

from edgemem import files
from edgemem.errors import MemoryDirError, MemoryKeyError
from edgemem.remember.disk import keys
from edgemem.remember.disk.keys import Key

if TYPE_CHECKING:
    Mode = Literal["rwc", "ro", "immutable"]

_PLAIN = b"SQLite format 3\0"
_NO_DATABASE = "not a database"
"""Message of both libraries if the first page is not that of a database."""
_PAGE_BYTES = 4096
_FEWEST_VALUES = 128
"""A page of random bytes has nearly all of the 256 byte values; text and zeros have less than half."""
_MODULE = "sqlcipher3.dbapi2"


def errors(*names: str) -> tuple[type[Exception], ...]:
    """Exception classes with these DB-API names (default: "Error", the base of all), of SQLite and, if it is in use, of SQLCipher."""
    modules = [sqlite3, *([sys.modules[_MODULE]] if _MODULE in sys.modules else [])]
    return tuple(getattr(module, name) for module in modules for name in names or ("Error",))


def is_cipher(connection: sqlite3.Connection) -> bool:
    """Whether this connection uses SQLCipher."""
    return not isinstance(connection, sqlite3.Connection)


def connect(file: Path, key: Key | None, *, mode: Mode = "rwc") -> sqlite3.Connection:
    """Open `file` with `key`, or without one. An empty or missing file becomes an encrypted or plain database accordingly.

    Statements commit automatically, and one thread at a time may use it. Raises MemoryKeyError if the key is missing, wrong or not needed,
    so that nothing is created or changed with a wrong key.
    """
    _make_private(file, mode)
    if key is not None:
        return _keyed(file, key, mode)
    connection = sqlite3.connect(_uri(file, mode), uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        if _NO_DATABASE in str(error) and is_noise(file):
            why = "is encrypted: name its key with store.key_file, EDGEMEM_KEY_FILE or EDGEMEM_KEY (it is damaged if it never had one)"
            raise MemoryKeyError(f"{_name(file)} {why}") from None
        raise
    return connection


def connect_any(file: Path, key: Key | None) -> sqlite3.Connection:
    """Like `connect`, but with SQLCipher also without a key, so that databases with another key can be attached. The file must exist.

    Two libraries on one file drop each other's locks: no other connection of this process may be open to it.
    """
    if key is not None:
        return connect(file, key)
    connect(file, None).close()  # raises a clear error
    return _open(file, "rwc")


def is_noise(file: Path) -> bool:
    """Whether `file` begins with a page of random bytes, as an encrypted database does.

    A separate process reads it: closing the file in this process would release all locks that this process has on it, including SQLite's.
    """
    done = subprocess.run(["head", "-c", str(_PAGE_BYTES), str(file)], capture_output=True, check=False)
    return len(done.stdout) == _PAGE_BYTES and len(set(done.stdout)) >= _FEWEST_VALUES


def _make_private(file: Path, mode: Mode) -> None:
    """A database that is made is its owner's alone, and so is what SQLite puts beside it. None is opened through a link."""
    if Path(file).is_symlink():
        raise MemoryDirError(f"{_name(file)}: {file.name} is a link: nothing is read or written through it; name the file itself")
    if mode == "rwc" and not os.path.lexists(file):
        files.create(file).close()


def _keyed(file: Path, key: Key, mode: Mode) -> sqlite3.Connection:
    empty = not file.exists() or file.stat().st_size == 0
    salt = b"" if key.is_raw else keys.new_salt() if empty else _first_bytes(file)
    connection = _open(file, mode)
    try:
        connection.execute(f'PRAGMA key="{key.pragma(salt)}"')
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except errors("DatabaseError") as error:
        connection.close()
        if _NO_DATABASE in str(error):
            raise _misfit(file, key) from None
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _misfit(file: Path, key: Key) -> MemoryKeyError:
    if _first_bytes(file) == _PLAIN:
        return MemoryKeyError(
            f"{_name(file)} is not encrypted, but a key is configured ({key.source}): encrypt it with `edgemem memory encrypt`,"
            " or leave the key out",
        )
    return MemoryKeyError(f"{_name(file)}: {key.source} does not open it; name the key that it was made with (or it is damaged)")


def _first_bytes(file: Path) -> bytes:
    """The salt, or the beginning of a plain database: read by SQLCipher itself, which keeps its locks."""
    with closing(_open(file, "ro")) as connection:
        connection.execute(f"PRAGMA key=\"x'{bytes(32).hex()}'\"")
        return bytes.fromhex(connection.execute("PRAGMA cipher_salt").fetchone()[0])


def _open(file: Path, mode: Mode) -> sqlite3.Connection:
    opened = _sqlcipher().connect(_uri(file, mode), uri=True, isolation_level=None, check_same_thread=False)
    connection = cast("sqlite3.Connection", opened)
    connection.execute("PRAGMA cipher_log_level=NONE")  # it would also write our one-line message to stderr
    return connection


def _sqlcipher() -> ModuleType:
    try:
        from sqlcipher3 import dbapi2
    except ImportError:
        raise MemoryKeyError("a key is configured, but sqlcipher3 is not installed: pip install 'edgemem-agent[encrypted]'") from None
    return cast("ModuleType", dbapi2)


def _uri(file: Path, mode: Mode) -> str:
    return f"{(file.parent.resolve() / file.name).as_uri()}?{'immutable=1' if mode == 'immutable' else f'mode={mode}'}"


def _name(file: Path) -> str:
    """The memory that a database belongs to, or the file itself when it is a backup."""
    return f"memory {file.parent}" if file.name == "memory.db" else str(file)
