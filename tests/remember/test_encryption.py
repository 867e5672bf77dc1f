"""An encrypted memory: nothing of it can be read without its key, in any case, and it has all functions of a plain one."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import simplejpeg

from edgemem.errors import MemoryDirError, MemoryKeyError, UsageError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.administration import backup, compact, restore
from edgemem.remember.check import check_memory
from edgemem.remember.disk import database, keys, rewrite
from edgemem.remember.entries import NewEntity, NewPart
from edgemem.remember.export import export
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.imports import import_into
from edgemem.remember.store import Store
from edgemem.remember.view import View

pytest.importorskip("sqlcipher3", reason="sqlcipher3 has no wheel for this Python: pip install 'edgemem-agent[encrypted]'")

SPACE = "test/16"
WORD = "zanzibar"


def raw_key():
    return keys.Key(os.urandom(32).hex(), "the test's key")


@pytest.fixture(params=["raw", "passphrase"])
def key(request):
    key = raw_key() if request.param == "raw" else keys.Key("correct horse battery staple", "the test's passphrase")
    with keys.using(key):
        yield key


def picture(number):
    return simplejpeg.encode_jpeg(np.random.default_rng(number).integers(0, 255, (48, 64, 3), np.uint8), 90, "BGR")


def fill(store, making, count, first=0):
    ids = []
    for i in range(first, first + count):
        with store.transaction() as tx:
            moment = making.moment(i * US, jpeg=picture(i), vector=making.unit(i), seen=(making.label("giraffe", 0.5),))
            ids.append(tx.add_moment(moment))
            tx.add_document(making.document(f"{WORD} number{i}", i * US, i * US, i * US, moment_id=ids[-1]))
    return ids


def secrets_of(making, count):
    """What must not be found: SQLite's name, words, the beginnings of pictures, rows of vectors (float16 and int8)."""
    vectors = [making.unit(i) for i in range(count)]
    return [
        b"SQLite format 3", WORD.encode(), b"giraffe", b"number1", b"CREATE TABLE", b"\xff\xd8\xff\xe0", b"JFIF",
        *(vector.astype(np.float16).tobytes() for vector in vectors),
        *(np.rint(vector * (127 / np.abs(vector).max())).astype(np.int8).tobytes() for vector in vectors),
    ]  # fmt: skip


def leaks(making, count, *paths):
    """Files in which a secret is found. A reader of a live memory finds them in the plain one, as the first test shows."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    assert files
    return [(file.name, secret) for file in files for secret in secrets_of(making, count) if secret in file.read_bytes()]


def entropy_bits(data):
    """Shannon entropy of a byte; 4096 random bytes come to 7.95."""
    shares = np.bincount(np.frombuffer(data, np.uint8), minlength=256) / len(data)
    return float(-(shares[shares > 0] * np.log2(shares[shares > 0])).sum())


def test_the_scan_finds_every_secret_in_a_plain_memory(directory, making):
    with keys.using(None), Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making, 3)
    found = {secret for _, secret in leaks(making, 3, directory)}
    assert found >= set(secrets_of(making, 3)) - {b"\xff\xd8\xff\xe0"}


@pytest.mark.usefixtures("key")
def test_no_byte_can_be_read_while_it_is_written_and_afterwards(directory, making, tmp_path):
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making, 30)
        assert (directory / "memory.db-wal").stat().st_size > 0
        assert leaks(making, 30, directory) == []
        backup(directory, tmp_path / "copy.db")
        store.maintain()
    assert leaks(making, 30, directory, tmp_path / "copy.db") == []
    assert not (directory / "vectors").exists()
    for file in (directory / "memory.db", tmp_path / "copy.db"):
        data = file.read_bytes()
        assert min(entropy_bits(data[at : at + 4096]) for at in range(0, len(data), 4096)) > 7.9
    assert check_memory(directory) == []


def test_it_remembers_searches_and_finds_like_a_plain_one(tmp_path, making, key):
    found = []
    for name, used in (("plain", None), ("encrypted", key)):
        with keys.using(used), Store.open(tmp_path / name) as store:
            store.ensure_space(making.space)
            with store.view() as view:
                assert view.vector_search(SPACE, making.unit(1), 5) == []
            fill(store, making, 60)
            seen = []
            with store.view() as view, store.view(30 * US) as earlier:
                for seed in range(100, 105):
                    query = making.unit(seed)
                    seen += [view.vector_search(SPACE, query, 10), earlier.vector_search(SPACE, query, 10)]
                    seen += [view.vector_search(SPACE, query, 3, from_us=5 * US, to_us=20 * US, stream="cam")]
                fill(store, making, 5, first=60)  # added behind what was searched,
                seen.append(view.vector_search(SPACE, making.unit(62), 3))
                fill(store, making, 1, first=7)  # out of order,
                with store.transaction() as tx:  # and taken away
                    tx.drop_moment(63)
                seen += [view.vector_search(SPACE, making.unit(62), 3), view.vector_search(SPACE, making.unit(7), 3)]
                seen += [[hit.document.id for hit in view.search_text("number7", 5)], view.names("label"), view.picture(3)]
        found.append(seen)
    assert found[0] == found[1]
    assert found[1][-6][0][0] == 63
    assert found[1][-6] != found[1][-5]


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_encryption import fill
from conftest import Making
from edgemem.remember.store import Store
store = Store.open(Path(sys.argv[1]), budget_bytes=64 << 20)
store.ensure_space(Making.space)
with store.view() as view:
    number = len(view.documents())
while True:
    fill(store, Making(), 1, first=number)
    number += 1
    print(number, flush=True)
    if number % 5 == 0:
        store.maintain()
"""


def test_killed_again_and_again_it_loses_nothing_and_shows_nothing(directory, making, tmp_path):
    key = raw_key()
    secret = tmp_path / "key"
    secret.write_text(key.secret)
    secret.chmod(0o600)
    environment = {**os.environ, keys.ENVIRONMENT_KEY_FILE: str(secret)}
    acknowledged = 0
    for cycle in range(4):
        command = [sys.executable, "-c", WRITER, str(directory), str(Path(__file__).parent)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        said = [int(writer.stdout.readline())]
        time.sleep(0.1 * cycle)
        os.kill(writer.pid, signal.SIGKILL)
        said += map(int, writer.stdout.read().split())
        writer.stdout.close()
        writer.wait()
        assert leaks(making, 10, directory) == []
        with keys.using(key):
            with Store.open(directory, budget_bytes=64 << 20) as store, store.view() as view:
                documents = [document.text for document in view.documents()]
                assert documents == [f"{WORD} number{i}" for i in range(len(documents))]
                assert said[-1] <= len(documents) <= said[-1] + 1
                assert len(view.vector_search(SPACE, making.unit(1), 10**6)) == len(documents)
                acknowledged = said[-1]
            assert check_memory(directory) == []
    assert acknowledged > 4


def test_what_is_forgotten_is_gone_also_for_who_has_the_key(directory, making, key):
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making, 40)
    receipt = forget(directory, Wanted(from_us=10 * US, to_us=29 * US))
    assert (receipt.moments, receipt.documents) == (20, 20)
    assert check_memory(directory) == []
    with View.open(directory) as view:
        assert [m.id for m in view.moments()] == [*range(1, 11), *range(31, 41)]
        assert len(view.vector_search(SPACE, making.unit(1), 100)) == 20
    rewrite.change_key(directory, key, None)
    data = (directory / "memory.db").read_bytes()
    assert [i for i in range(10, 30) if picture(i)[-200:] in data or making.unit(i).astype(np.float16).tobytes() in data] == []
    assert not re.search(rb"number(1\d|2\d)\b", data)


@pytest.mark.usefixtures("key")
def test_a_full_disk_and_a_damaged_page_are_told_in_one_line(directory, making):
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making, 20)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages + 2}")
        with pytest.raises(MemoryDirError, match="disk is full"):
            fill(store, making, 60, first=20)
        with pytest.raises(MemoryDirError, match="being written by process"):
            Store.open(directory)
    data = bytearray((directory / "memory.db").read_bytes())
    data[len(data) // 2 + 100] ^= 1
    (directory / "memory.db").write_bytes(data)
    assert any("HMAC" in line for line in check_memory(directory))


@pytest.mark.usefixtures("key")
def test_the_wrong_key_no_key_and_a_key_too_many(directory, tmp_path, capfd):
    Store.open(directory).close()
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.name != "lock"}
    for wrong in (raw_key(), keys.Key("another passphrase", "another key")):
        with keys.using(wrong):
            for opening in (View.open, Store.open, check_memory):
                with pytest.raises(MemoryKeyError, match="does not open it"):
                    opening(directory)
    with keys.using(None):
        for opening in (View.open, Store.open, check_memory):
            with pytest.raises(MemoryKeyError, match=r"is encrypted: name its key with store\.key_file"):
                opening(directory)
        with Store.open(tmp_path / "plain"):
            pass
    for opening in (View.open, Store.open):
        with pytest.raises(MemoryKeyError, match="is not encrypted, but a key is configured"):
            opening(tmp_path / "plain")
    assert {path: path.read_bytes() for path in before} == before
    assert capfd.readouterr().err == ""  # the library itself stays silent


def test_a_passphrase_is_what_sqlcipher_itself_makes_of_it(directory):
    from sqlcipher3 import dbapi2

    with keys.using(keys.Key("correct horse battery staple")), Store.open(directory):
        pass
    with closing(dbapi2.connect(directory / "memory.db")) as connection:
        connection.execute("PRAGMA key='correct horse battery staple'")
        assert connection.execute("SELECT count(*) FROM moment").fetchone() == (0,)


def test_a_memory_changes_its_key_and_keeps_everything(directory, making):
    first, second = raw_key(), keys.Key("correct horse battery staple", "a passphrase")
    with keys.using(None):
        with Store.open(directory) as store:
            store.ensure_space(making.space)
            fill(store, making, 20)
            with store.transaction() as tx:
                tx.drop_moment(20)
        with View.open(directory) as view:
            kept = view.moments(), view.documents(), view.vector_search(SPACE, making.unit(3), 5), view.picture(2)
    for old, new in ((None, first), (first, second), (second, None)):
        rewrite.change_key(directory, old, new)
        assert (leaks(making, 20, directory) == []) == (new is not None)
        with keys.using(new):
            assert new is None or check_memory(directory) == []
            with Store.open(directory) as store, store.view() as view:
                assert (view.moments(), view.documents(), view.vector_search(SPACE, making.unit(3), 5), view.picture(2)) == kept
                assert view.encrypted == (new is not None)
                with store.transaction() as tx:  # ids are never given twice
                    assert tx.add_moment(making.moment(99 * US)) > 20
                    tx.drop_moment(tx.connection.execute("SELECT max(id) FROM moment").fetchone()[0])
            assert check_memory(directory) == []


def test_a_reader_in_the_way_leaves_the_memory_as_it_was(directory, making, monkeypatch):
    key, other = raw_key(), raw_key()
    monkeypatch.setattr("edgemem.remember.disk.rewrite.READER_PATIENCE_S", 0.1)
    with keys.using(key):
        with Store.open(directory) as store:
            store.ensure_space(making.space)
            fill(store, making, 3)
        with View.open(directory) as view:
            view._connection.execute("BEGIN")
            view.moments()
            with pytest.raises(MemoryDirError, match="in use"):
                rewrite.change_key(directory, key, other)
            assert len(view.moments()) == 3
        assert check_memory(directory) == []
    with pytest.raises(UsageError, match="the one in use"):
        rewrite.require_new_key(key, key)


CHANGE = """
import sys
from pathlib import Path
from edgemem.remember.disk import keys, rewrite
old, new = (keys.Key(text) if text else None for text in sys.argv[2:4])
print("ready", flush=True)
rewrite.change_key(Path(sys.argv[1]), old, new)
"""


@pytest.mark.parametrize("way", ["encrypt", "decrypt"])
def test_killed_while_it_changes_its_key_it_has_the_old_or_the_new_one(directory, making, way, tmp_path):
    key = raw_key()
    old, new = (None, key) if way == "encrypt" else (key, None)
    with keys.using(old), Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making, 40)
    whole = 0
    for delay_ms in (0, 10, 25, 50, 100):
        copy = tmp_path / f"{way}{delay_ms}"
        shutil.copytree(directory, copy)
        arguments = [str(copy), *("" if each is None else each.secret for each in (old, new))]
        process = subprocess.Popen([sys.executable, "-c", CHANGE, *arguments], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(delay_ms / 1000)
        process.kill()
        process.wait()
        process.stdout.close()
        now = key if database.is_noise(copy / "memory.db") else None
        with keys.using(now):
            with Store.open(copy) as store, store.view() as view:
                assert len(view.documents()) == 40
                assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert check_memory(copy) == []
        assert now is None or leaks(making, 40, copy) == []
        assert not (copy / "memory.db-part").exists()
        whole += 1
    assert whole == 5


def test_backups_exports_and_the_way_back(directory, making, key, tmp_path):
    other = raw_key()
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making, 10)
    backup(directory, tmp_path / "same.db")
    backup(directory, tmp_path / "other.db", key=other)
    with pytest.raises(MemoryKeyError, match="does not open it"):
        restore(tmp_path / "other.db", tmp_path / "no")
    for file, used in (("same.db", key), ("other.db", other)):
        with keys.using(used):
            restore(tmp_path / file, tmp_path / f"{file}.memory")
            assert check_memory(tmp_path / f"{file}.memory") == []
            with View.open(tmp_path / f"{file}.memory") as view:
                assert len(view.moments()) == 10
    export(directory, tmp_path / "plain")
    import_into(tmp_path / "again", tmp_path / "plain")
    assert leaks(making, 10, tmp_path / "again", tmp_path / "other.db", tmp_path / "other.db.memory") == []
    compact(tmp_path / "again")
    assert check_memory(tmp_path / "again") == []


def test_a_plain_memory_gets_an_encrypted_backup(directory, making, tmp_path):
    key = raw_key()
    with keys.using(None), Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making, 10)
    with keys.using(None):
        backup(directory, tmp_path / "copy.db", key=key)
    assert leaks(making, 10, tmp_path / "copy.db") == []
    with keys.using(key):
        restore(tmp_path / "copy.db", tmp_path / "again")
        with View.open(tmp_path / "again") as view:
            assert len(view.documents()) == 10


def test_an_older_schema_is_brought_up_to_date_under_encryption(tmp_path):
    from edgemem.remember.disk import schema

    key = raw_key()
    golden = sorted((Path(__file__).parent / "golden").glob("*.db.gz"))
    assert golden
    for number, file in enumerate(golden):
        memory = tmp_path / str(number)
        memory.mkdir()
        (memory / "memory.db").write_bytes(gzip.decompress(file.read_bytes()))
        rewrite.change_key(memory, None, key)
        with keys.using(key):
            with Store.open(memory) as store:
                assert store._connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
            assert check_memory(memory) == []


def test_kills_under_load_lose_nothing():
    """`make torture` on encrypted memories, in short: readers, eviction, maintenance and forgetting run while the writer is killed."""
    tool = Path(__file__).parents[2] / "tools" / "torture.py"
    environment = {**os.environ, keys.ENVIRONMENT_KEY: raw_key().secret}
    command = [sys.executable, str(tool), "--cycles", "12"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "nothing lost" in run.stdout


def test_written_sql_reads_the_entity_graph_only(directory):
    with keys.using(raw_key()), Store.open(directory) as store, store.view() as view:
        assert view.select("SELECT count(*) FROM entity_graph_table").rows == ((0,),)
        for forbidden in ("SELECT * FROM document", "SELECT sqlcipher_export('main')", "PRAGMA cipher_salt", "ATTACH 'x' AS x KEY ''"):
            with pytest.raises(UsageError, match=r"failed|only SELECT"):
                view.select(forbidden)
        assert view.documents() == []


def test_entities_and_parts_are_found_without_a_file(directory, making):
    """An entity that was there before gets its vector late, and another one instead."""
    with keys.using(raw_key()), Store.open(directory) as store:
        store.ensure_space(Space(name="known", dim=16), holds="entity")
        store.ensure_space(Space(name="looks", dim=16), holds="part")
        with store.transaction() as tx:
            old, new = (tx.add_entity(NewEntity(kind="face", name=name, known_us=0)) for name in ("old", "new"))
            tx.set_entity_vector(new, "known", making.unit(1))
        with store.view() as view:
            assert [hit.entity.name for hit in view.nearest_entities("known", making.unit(1), 9)] == ["new"]
            with store.transaction() as tx:
                tx.set_entity_vector(old, "known", making.unit(2))
                tx.set_entity_vector(new, "known", making.unit(3))
                document_id = tx.add_document(making.document("x"))
                tx.add_part(NewPart(kind="face", score=1.0, document_id=document_id, vectors={"looks": making.unit(4)}))
            assert [hit.entity.name for hit in view.nearest_entities("known", making.unit(2), 1)] == ["old"]
            assert view.nearest_entities("known", making.unit(3), 1)[0].score > 0.999
            assert len(view.nearest_parts("looks", making.unit(4), 9)) == 1
        assert not (directory / "vectors").exists()
    assert leaks_nothing(directory, making)


def leaks_nothing(directory, making):
    data = (directory / "memory.db").read_bytes()
    return all(making.unit(i).astype(np.float16).tobytes() not in data for i in range(1, 5))


def test_the_budget_holds(directory, making):
    cap = 8 << 20
    with keys.using(raw_key()), Store.open(directory, budget_bytes=cap) as store:
        store.ensure_space(making.space)
        for i in range(250):
            with store.transaction() as tx:
                tx.add_moment(making.moment(i * US, jpeg=os.urandom(40_000)))
            assert store.disk_bytes() <= cap
        with store.view() as view:
            assert view.moments(newest_first=True, limit=1)[0].seq == 249


def test_the_plain_library_alone_reads_a_plain_memory(directory):
    """The extra is not needed without a key: nothing of SQLCipher is loaded."""
    code = (
        "import sys; sys.modules['sqlcipher3'] = None\n"
        "from pathlib import Path\nfrom edgemem.remember.disk import keys\nfrom edgemem.remember.store import Store\n"
        f"Store.open(Path({str(directory)!r})).close()\n"
        "from edgemem.errors import MemoryKeyError\n"
        "try:\n    with keys.using(keys.Key('0' * 64, 'x')): Store.open(Path(sys.argv[1]))\n"
        "except MemoryKeyError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(directory) + "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install 'edgemem-agent[encrypted]'" in done.stdout
    assert sqlite3.connect(directory / "memory.db").execute("PRAGMA integrity_check").fetchone() == ("ok",)
