"""What identifies this device: its Linux for Tegra release, and a secret with which it seals what it builds."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from contextlib import suppress
from pathlib import Path

from edgemem.extend import make_directory, write_file

_RELEASE = re.compile(r"R(\d+)\s*\(release\),\s*REVISION:\s*([\d.]+)")
_SECRET_BYTES = 32


def l4t_release(root: Path = Path("/")) -> str:
    """The release of Linux for Tegra, such as "36.4.3"; empty on other machines. From /etc/nv_tegra_release."""
    with suppress(OSError):
        found = _RELEASE.search((root / "etc/nv_tegra_release").read_text(encoding="utf-8", errors="replace"))
        if found:
            return f"{found[1]}.{found[2]}"
    return ""


def serial_number(root: Path = Path("/")) -> str:
    """The board's serial number from the device tree, else the machine id; empty where there is neither."""
    for name in ("proc/device-tree/serial-number", "etc/machine-id"):
        with suppress(OSError):
            text = (root / name).read_text(encoding="utf-8", errors="replace").strip("\0 \n")
            if text:
                return text
    return ""


class Seal:
    """Marks what this device built (HMAC-SHA256, RFC 2104), so that a file from elsewhere is recognised.

    The key is a secret in the plans' folder together with the board's serial number: a copy of the folder on another board does not fit.
    """

    def __init__(self, folder: Path, root: Path = Path("/")) -> None:
        self._path = folder / "device.key"
        self._serial = serial_number(root).encode()

    def mark(self, data: bytes) -> str:
        """The seal of `data`, 64 hex digits. Makes the secret if there is none yet."""
        return hmac.new(self._secret() + self._serial, data, hashlib.sha256).hexdigest()

    def holds(self, data: bytes, mark: str) -> bool:
        """Whether this device sealed exactly this data."""
        return self._path.is_file() and hmac.compare_digest(self.mark(data).encode(), mark.encode())

    def _secret(self) -> bytes:
        with suppress(FileNotFoundError):
            return self._path.read_bytes()
        make_directory(self._path.parent)
        write_file(self._path, secrets.token_bytes(_SECRET_BYTES))
        return self._path.read_bytes()
