"""A memory of any earlier edgemem opens with all its data, whatever interrupts its migration."""

from __future__ import annotations

import gzip
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import resources
from pathlib import Path

import msgspec
import numpy as np
import pytest

from edgemem.errors import MemoryDirError, OldSchemaError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.administration import compact, open_view
from edgemem.remember.budget.batches import cap_in_force
from edgemem.remember.check import check_memory
from edgemem.remember.disk import keys, page_budget, schema
from edgemem.remember.disk.directory import set_paused
from edgemem.remember.disk.rewrite import change_key
from edgemem.remember.disk.schema import VERSION
from edgemem.remember.entries import NewEntity, NewPart, NewPassage, NewSegment
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.store import Store
from edgemem.remember.view import View

GOLDEN = Path(__file__).parent / "golden"
ENTITIES = {
    1: [],
    2: [("Anna", ()), ("cat", ())],
    3: [("Anna Weber", ("Anna",)), ("cat", ()), ("speaker 1", ())],
}
SAID = {1: [], 2: [], 3: [("the blue key is under the mat", "speaker 1", 0.75)]}


@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_old_memory_opens_as_if_it_had_been_written_today(tmp_path, making, version):
    directory = tmp_path / "memory"
    directory.mkdir()
    (directory / "memory.db").write_bytes(gzip.decompress((GOLDEN / f"v{version}.db.gz").read_bytes()))
    with pytest.raises(MemoryDirError, match="older schema"):
        View.open(directory)
    open_view(directory).close()
    with Store.open(directory) as store, store.view() as view:
        assert [(s.name, s.moments) for s in view.streams()] == [("door", 3), ("hall", 3)]
        assert [hit.document.text for hit in view.search_text("grey cat", 5)] == ["a grey cat near the door", "a grey cat near the hall"]
        assert [d.text for d in view.documents(stream="door", kinds=["event"])] == ["a grey cat near the door"]
        assert view.names("label") == {"cat": 6}
        assert {p.moment_id for p in view.postings(["GATE 1"])} == {2, 5}
        assert [i for i, _ in view.vector_search("golden/8", making.unit(0, 8), 9, stream="hall")] != []
        assert view.picture(1)[:2] == b"\xff\xd8"
        assert view.moment(1).pinned
        assert [(e.name, e.aliases) for e in view.entities()] == ENTITIES[version]
        edges = [(r.source.aliases or r.source.name, r.type, r.target.name, r.stream, len(r.quotes)) for r in view.relations()]
        anna = ("Anna",) if version > 2 else "Anna"
        assert edges == ([(anna, "USES", "cat", stream, 1) for stream in ("door", "hall")] if version > 1 else [])
        assert [(spoken.document.text, spoken.speaker.name, spoken.confidence) for spoken in view.utterances()] == SAID[version]
        assert [(s.level, s.parent_id) for s in view.segments()] == [(0, None), (0, None)]
        assert (view.parts(), view.jobs()) == ([], [])
        assert store.state("test/door") == b"as it was"
        with store.transaction() as tx:
            tx.add_entity(NewEntity(kind="person", name="Anna", known_us=20 * US))
        with store.view(25 * US) as earlier:
            assert [d.text for d in earlier.documents(stream="door", kinds=["event"])] == ["a cat near the door"]
            assert [r.quotes for r in earlier.relations()] == [(), ()] * (version > 1)
        space = Space(name="golden/more words", dim=8)
        store.ensure_space(space, holds="passage")
        passage = NewPassage(kind="document", text="a dog", vectors={space.name: making.unit(3, 8)})
        with store.transaction() as tx:
            said = tx.add_document(making.document("a dog", kind="utterance", origin="asr", stream="door", passages=(passage,)))
            tx.drop_moment(said)  # of another kind, though it may have the same id
        assert [hit.document.id for hit in view.search_passages(space.name, making.unit(3, 8), 5)] == [said]
        assert [spoken.document.text for spoken in view.utterances()] == ["a dog", *(row[0] for row in SAID[version])]
    assert check_memory(directory) == []


@pytest.mark.parametrize("version", range(1, VERSION))
def test_compacting_brings_an_old_memory_up_to_date(tmp_path, version):
    """As the message of every reader advises."""
    (tmp_path / "memory.db").write_bytes(gzip.decompress((GOLDEN / f"v{version}.db.gz").read_bytes()))
    with pytest.raises(MemoryDirError, match="edgemem memory compact"):
        View.open(tmp_path)
    compact(tmp_path)
    with View.open(tmp_path) as view:
        assert [s.moments for s in view.streams()] == [3, 3]


def schema_3(directory):
    directory.mkdir()
    (directory / "memory.db").write_bytes(gzip.decompress((GOLDEN / "v3.db.gz").read_bytes()))
    return directory


def sound(directory, making):
    """It opens, answers, forgets, and `memory check` finds nothing."""
    with Store.open(directory) as store, store.view() as view:
        assert [s.moments for s in view.streams()] == [3, 3]
        assert [hit.document.text for hit in view.search_passages("golden/words", np.eye(8, dtype=np.float32)[5], 1)] == [SAID[3][0][0]]
        log, plain = (view.session(head.id) for head in reversed(view.sessions()))
        assert [(call.task, call.model, call.step, call.reply, call.tokens_in) for call in log.calls] == [
            ("planner", "tiny-1", 1, "look", 70), ("", "", 0, "", 0),
        ]  # fmt: skip
        assert msgspec.msgpack.decode(log.calls[0].request) == {"prompt": "where is the blue key?"}
        assert (log.calls[0].tokens_out, log.calls[0].ms, log.calls[0].usd) == (7, 12.5, 0.25)
        assert plain.calls == ()
        store.ensure_space(making.space)
        with store.transaction() as tx:  # what the new schema has
            parent = tx.add_segment(
                NewSegment(stream="door", segmenter="golden", t0_us=0, t1_us=20 * US, offset_us=0, moment_ids=(), level=1)
            )
            tx.set_parent([1], parent)
            tx.add_part(NewPart(kind="face", score=1.0, moment_id=1))
            tx.add_job("writer", "hall", b"work", 0)
        assert view.segment(1).parent_id == parent
        assert len(view.parts()) == 1
    assert check_memory(directory) == []
    forget(directory, Wanted(entity="blue key"))
    with View.open(directory) as view:
        assert view.utterances() == []
        assert [head.question for head in view.sessions()] == ["is there a cat?"]
    assert check_memory(directory) == []
    assert not any(b"blue key" in path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_a_memory_of_schema_3_answers_and_forgets(tmp_path, making):
    sound(schema_3(tmp_path / "memory"), making)


def test_an_encrypted_memory_of_schema_3_answers_and_forgets(tmp_path, making):
    pytest.importorskip("sqlcipher3", reason="sqlcipher3 has no wheel for this Python: pip install 'edgemem-agent[encrypted]'")
    directory = schema_3(tmp_path / "memory")
    key = keys.Key("ab" * 32, "the test's key")
    change_key(directory, None, key)
    assert b"SQLite format 3" not in (directory / "memory.db").read_bytes()
    with keys.using(key):
        sound(directory, making)


STATEMENTS = len(list(schema._statements((resources.files(schema) / f"{schema._MIGRATIONS[-1]}.sql").read_text())))


@pytest.mark.parametrize("count", [0, 1, STATEMENTS // 2, STATEMENTS - 1])
def test_a_migration_that_fails_half_way_leaves_the_memory_as_it_was(tmp_path, making, monkeypatch, count):
    directory = schema_3(tmp_path / "memory")
    statements = schema._statements

    def failing(script):
        for number, statement in enumerate(statements(script)):
            if number == count:
                raise OSError("no space")
            yield statement

    monkeypatch.setattr(schema, "_statements", failing)
    with pytest.raises(MemoryDirError):
        Store.open(directory)
    monkeypatch.undo()
    with closing(sqlite3.connect(directory / "memory.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name IN ('part', 'job', 'vec_space_3')").fetchone() == (0,)
    sound(directory, making)


CHILD = """
import os, signal, sys
from pathlib import Path
from edgemem.remember.disk import schema
from edgemem.remember.store import Store
statements = schema._statements

def killed(script):
    for number, statement in enumerate(statements(script)):
        yield statement
        if number == int(sys.argv[2]):
            print("half way", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

schema._statements = killed
Store.open(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("count", [STATEMENTS // 2, STATEMENTS - 1])
def test_a_migration_that_is_killed_half_way_begins_anew(tmp_path, making, count):
    directory = schema_3(tmp_path / "memory")
    child = subprocess.run([sys.executable, "-c", CHILD, directory, str(count)], capture_output=True, text=True, check=False)
    assert (child.stdout, child.returncode) == ("half way\n", -signal.SIGKILL), child.stderr
    sound(directory, making)


def test_each_schema_has_its_file_and_no_file_is_left_over():
    names = sorted(path.name for path in resources.files(schema).iterdir() if path.name.endswith(".sql"))
    assert names == [f"{name}.sql" for name in schema._MIGRATIONS]
    assert [int(name[1 : name.index("_")]) for name in schema._MIGRATIONS] == list(range(1, VERSION + 1))


def test_a_paused_memory_of_an_earlier_version_is_left_as_it_is(tmp_path):
    directory = tmp_path / "memory"
    directory.mkdir()
    database = directory / "memory.db"
    database.write_bytes(gzip.decompress((GOLDEN / "v3.db.gz").read_bytes()))
    set_paused(directory, paused=True)
    before = database.read_bytes()
    with pytest.raises(OldSchemaError):
        open_view(directory)
    assert database.read_bytes() == before
    set_paused(directory, paused=False)
    with open_view(directory) as view:
        assert [stream.name for stream in view.streams()] == ["door", "hall"]


def test_a_smaller_cap_of_an_earlier_version_counts_as_the_smallest_of_today(tmp_path):
    Store.open(tmp_path, budget_bytes=100 << 20).close()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '1048576' WHERE key = 'budget_bytes'")
    assert cap_in_force(tmp_path) == page_budget.MINIMUM_BYTES
