"""Finds the key of an encrypted memory: in a file, in the environment, or in a TPM, which releases it only on this board.

A key is 64 hexadecimal digits (256 random bits, used directly, which needs no time) or a passphrase, from which PBKDF2-HMAC-SHA512 with
256,000 rounds derives the bits. That is SQLCipher 4's own derivation, so its tools can read a memory too. It is done once per process and
file, not once per connection (measured: 0.4 s).
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from edgemem.config import StoreSettings
from edgemem.errors import MemoryKeyError, UsageError

ENVIRONMENT_KEY = "EDGEMEM_KEY"
ENVIRONMENT_KEY_FILE = "EDGEMEM_KEY_FILE"
_SALT_BYTES = 16
"""An encrypted database begins with its salt."""
_KEY_BYTES = 32
_KDF_ROUNDS = 256_000
_TPM_PATIENCE_S = 30.0
_FEWEST_CHARS = 8
"""Least length of a passphrase. Someone who has the file can try many passphrases per second, so shorter ones give no protection."""


@dataclass(frozen=True)
class Key:
    """A secret, and a text that says where it came from. Its text form never shows the secret."""

    secret: str = field(repr=False)
    source: str = ""

    @property
    def is_raw(self) -> bool:
        """Whether it is 256 bits already."""
        return len(self.secret) == 2 * _KEY_BYTES and not set(self.secret.lower()) - set("0123456789abcdef")

    def pragma(self, salt: bytes) -> str:
        """The value of SQLCipher's `key` for a database that begins with `salt`: key and salt as one blob literal.

        Without a salt, which is possible only for a raw key, SQLCipher uses that of the file or makes one.
        """
        bits = self.secret if self.is_raw else _derive(self.secret, salt)
        return f"x'{bits}{salt.hex()}'"


_settings: Callable[[], StoreSettings] = StoreSettings
"""The settings; read only when a memory is opened."""
_given: list[Key | None] = []
"""Keys of `using`; the last one is in use."""


def follow(settings: Callable[[], StoreSettings]) -> None:
    """From now on this process uses the key that these settings name, or that of the environment."""
    global _settings  # noqa: PLW0603 - one process has one key: every reader and writer in it must agree
    _settings = settings


@contextmanager
def using(key: Key | None) -> Iterator[None]:
    """Within the block every memory is opened with this key, whatever is configured; None: without a key. It applies to the whole
    process.
    """
    _given.append(key)
    try:
        yield
    finally:
        _given.remove(key)


def configured() -> Key | None:
    """The key for opening memories; None if none is configured.

    Raises MemoryKeyError if it cannot be read, or if it is configured in two places.
    """
    if _given:
        return _given[-1]
    settings = _settings()
    tpm = settings.key_tpm  # 0x81010001 is a number in TOML
    ways: dict[str, tuple[str, Callable[[str], Key]]] = {
        "store.key_file": (settings.key_file, read),
        "store.key_tpm": (hex(tpm) if isinstance(tpm, int) else tpm, lambda name: unseal(name, settings.key_tpm_auth)),
        ENVIRONMENT_KEY_FILE: (os.environ.get(ENVIRONMENT_KEY_FILE, ""), read),
        ENVIRONMENT_KEY: (os.environ.get(ENVIRONMENT_KEY, ""), lambda text: _parse(text, ENVIRONMENT_KEY)),
    }
    named = [name for name, (value, _) in ways.items() if value]
    if len(named) > 1:
        raise MemoryKeyError(f"the key is configured in two places ({' and '.join(named)}): keep one of them")
    if not named:
        return None
    value, get = ways[named[0]]
    return get(value)


def read(name: str | Path) -> Key:
    """The key in a file that only its owner may read. Raises MemoryKeyError if it is missing, readable by others, or contains no key."""
    file = Path(name).expanduser()
    try:
        status = file.stat()
        if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
            raise MemoryKeyError(f"key file {file} can be read by others: run `chmod 600 {file}`")
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MemoryKeyError(
            f"key file {file} does not exist: make one with `edgemem memory keygen {file}`, or name the right one"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise MemoryKeyError(f"key file {file} cannot be read ({error}): it must contain 64 hexadecimal digits or a passphrase") from None
    return _parse(text, f"key file {file}")


def generate(file: Path) -> None:
    """Write a new random key to a new file that only its owner may read. Raises UsageError if the file exists already."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(f"{file} exists: an overwritten key would be lost; name a new file") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as out:
        out.write(f"{secrets.token_hex(_KEY_BYTES)}\n")
        out.flush()
        os.fsync(out.fileno())


@lru_cache(maxsize=4)
def unseal(name: str, auth: str = "") -> Key:
    """The key that the TPM releases for `name`: the context file of a sealed object, or a persistent handle such as 0x81010001.

    `auth` is the value for `tpm2_unseal -p`: a password, or a policy such as pcr:sha256:0,7. Called once per process, because a TPM is
    slow. Raises MemoryKeyError if tpm2-tools are missing or the TPM refuses, for example because the board was started in another way.
    """
    command = ["tpm2_unseal", "-c", name, *(["-p", auth] if auth else [])]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_TPM_PATIENCE_S)
    except OSError:
        raise MemoryKeyError("store.key_tpm needs the program tpm2_unseal: install tpm2-tools (apt-get install tpm2-tools)") from None
    except subprocess.TimeoutExpired:
        raise MemoryKeyError(f"store.key_tpm {name}: no answer for {_TPM_PATIENCE_S:.0f} s; try `tpm2_unseal -c {name}`") from None
    if done.returncode:
        lines = [line for line in done.stderr.decode(errors="replace").splitlines() if "ERROR" in line]
        reason = lines[0].removeprefix("ERROR: ") if lines else f"exit code {done.returncode}"
        raise MemoryKeyError(f"store.key_tpm {name}: the TPM does not release the key ({reason}); try `{' '.join(command)}`")
    return _parse(done.stdout.decode(errors="replace"), f"store.key_tpm {name}")


def new_salt() -> bytes:
    """A salt for a new database."""
    return secrets.token_bytes(_SALT_BYTES)


def _parse(text: str, source: str) -> Key:
    secret = text.strip()
    if len(secret) < _FEWEST_CHARS:
        raise MemoryKeyError(f"{source} contains no key: it needs 64 hexadecimal digits or a passphrase of {_FEWEST_CHARS} characters")
    return Key(secret, source)


@lru_cache(maxsize=16)
def _derive(passphrase: str, salt: bytes) -> str:
    return hashlib.pbkdf2_hmac("sha512", passphrase.encode(), salt, _KDF_ROUNDS, _KEY_BYTES).hex()
