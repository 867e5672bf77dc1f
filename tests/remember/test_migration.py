"""A memory of any earlier edgemem opens, with everything that was in it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from edgemem.errors import MemoryDirError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.disk.schema import VERSION
from edgemem.remember.entries import NewEntity, NewPassage
from edgemem.remember.store import Store
from edgemem.remember.upkeep import compact
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
