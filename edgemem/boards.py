"""Finds the board by the text of its device tree, and its file in `firmware_configs/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from edgemem.errors import UsageError, nearest
from edgemem.toml import read_toml

AUTO, NONE = "auto", "none"
"""Values of the setting `board`: find it out, or use no board's file."""
FALLBACK = "pc"
"""The board of a machine without a device tree, or with one that no file knows."""
_DEVICE_TREE = ("proc/device-tree", "sys/firmware/devicetree/base")
"""Where Linux shows it; the first is a link to the second."""
_MOST_BYTES = 4096


class BoardFile(msgspec.Struct, frozen=True):
    """The board whose file lies below the settings."""

    name: str
    """Name of its file; "" = none."""
    path: Path | None = None
    data: Mapping[str, Any] = {}
    """What its file says, not checked yet."""
    known_by: str = ""
    """The text of the device tree that decided; "" = it was named, or nothing was known."""
    detected: bool = False
    """Whether it was found out, not named."""
    device_tree: tuple[str, ...] = ()
    """Texts of this machine's device tree, the most specific first; empty = it has none."""

    @property
    def unknown(self) -> bool:
        """Whether this machine has a device tree that no file knows."""
        return bool(self.device_tree) and not self.known_by

    def described(self, title: str) -> str:
        """One line for people: the board, its file, and how it was found."""
        if not self.name:
            return 'no file of a board is used (board = "none")'
        if self.unknown:
            return f"unknown ({', '.join(self.device_tree)}): uses the file {self.name}"
        how = f'found by "{self.known_by}"' if self.known_by else "no device tree" if self.detected else "named in the settings"
        return f"{title or self.name}: file {self.name}, {how}"


def firmware_dir() -> Path:
    """The folder of the settings for boards and deployments: inside the wheel, else beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "_data" / "firmware_configs"
    return inside if inside.is_dir() else package.parent / "firmware_configs"


def board_files(folder: Path | None = None) -> dict[str, Path]:
    """The files of boards by name: those with a table `[hardware]`. Others in the folder are examples of deployments."""
    return {path.stem: path for path in sorted((folder or firmware_dir()).glob("*.toml")) if "hardware" in read_toml(path)}


def device_tree(root: Path) -> tuple[str, ...]:
    """The entries of `compatible`, which is ordered from the most specific to the most general (Devicetree Specification 0.4, 2.3.1),
    then `model`. Empty without a device tree.
    """
    for place in _DEVICE_TREE:
        found = [text for name in ("compatible", "model") for text in _texts(root / place / name)]
        if found:
            return tuple(found)
    return ()


def find(named: str, root: Path, folder: Path | None = None) -> BoardFile:
    """The board that the setting `board` names: "auto", "none", the name of a file, or a path with "/" or ".toml".

    Raises UsageError, which names the nearest valid name.
    """
    if named == NONE:
        return BoardFile("")
    if named == AUTO:
        return _detected(root, folder)
    if "/" in named or named.endswith(".toml"):
        path = Path(named).expanduser()
        return BoardFile(path.stem, path, read_toml(path))
    path = (folder or firmware_dir()) / f"{named}.toml"
    known = board_files(folder)
    if named not in known:
        raise UsageError(f'board: no board is called "{named}"{nearest(named, (*known, AUTO, NONE))}; see: edgemem boards')
    return BoardFile(named, path, read_toml(path))


def _detected(root: Path, folder: Path | None) -> BoardFile:
    """The board of the first text of the device tree that a file claims, else the fallback."""
    texts = device_tree(root)
    files = {name: (path, read_toml(path)) for name, path in board_files(folder).items()} if texts else {}
    for text in texts:
        for name, (path, data) in files.items():
            if claims(data, text):
                return BoardFile(name, path, data, text, True, texts)
    path = (folder or firmware_dir()) / f"{FALLBACK}.toml"
    return BoardFile(FALLBACK, path, read_toml(path), "", True, texts)


def claims(data: Mapping[str, Any], text: str) -> bool:
    """Whether a board's file claims a text of the device tree. Upper and lower case are equal."""
    hardware = data.get("hardware")
    parts = hardware.get("device_tree", []) if isinstance(hardware, dict) else []
    return any(isinstance(part, str) and part and part.lower() in text.lower() for part in _listed(parts))


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


def _texts(path: Path) -> list[str]:
    """The texts of a property: each ends with a NUL. Empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return []
    return [text for part in data.split(b"\0") if (text := part.decode("utf-8", "replace").strip())]
