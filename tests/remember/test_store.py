"""Written data is read back; a failed write leaves nothing."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from edgemem.errors import EngineError, MemoryDirError
from edgemem.infer.roles import Space
from edgemem.records import US, Box, Observation
from edgemem.remember.check import check_memory
from edgemem.remember.store import Store


def test_a_moment_comes_back_as_it_was_given(store, making):
    seen = (
        making.label("cat", 0.75, Box(0.1, 0.2, 0.6, 0.7), "black", kind="object"),
        making.label("kitchen", 0.5),
        making.label("EXIT C", 0.9, Box(0, 0, 1, 0.1), kind="text"),
    )
    with store.transaction() as tx:
        moment_id = tx.add_moment(making.moment(5 * US, jpeg=b"\xff\xd8 picture", seen=seen, role="first"))
    with store.view() as view:
        moment = view.moment(moment_id)
        assert (moment.stream, moment.t_us, moment.width_px, moment.tier, moment.role) == ("cam", 5 * US, 640, "recent", "first")
        assert view.picture(moment_id) == b"\xff\xd8 picture"
        back = view.observations([moment_id])[moment_id]
        assert [(o.kind, o.name, o.score, o.colour) for o in back] == [(o.kind, o.name, o.score, o.colour) for o in seen]
        assert back[0].box.x1 == pytest.approx(0.6, abs=1e-4)
        assert back[1].box is None
        stored = view.vectors(making.space.name, [moment_id])[0]
        np.testing.assert_allclose(stored, making.unit(5 * US), atol=1e-3)


def test_a_block_that_raises_leaves_nothing(store, making):
    def half():
        with store.transaction() as tx:
            tx.add_moment(making.moment(0))
            tx.set_state("gate", b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    with store.view() as view:
        assert view.moments() == []
        assert view.vector_search(making.space.name, making.unit(0), 5) == []
    assert store.state("gate") is None


def test_state_survives_a_restart(store):
    with store.transaction() as tx:
        tx.set_state("selector", b"\x00\x01")
        tx.set_state("selector", b"\x02")
    directory = store.directory
    store.close()
    with Store.open(directory) as again:
        assert again.state("selector") == b"\x02"


def test_equal_pictures_are_stored_once_and_live_as_long_as_one_moment_shows_them(store, making):
    picture = bytes(200_000)
    with store.transaction() as tx:
        ids = [tx.add_moment(making.moment(i * US, jpeg=picture)) for i in range(20)]
    assert store.disk_bytes() < 2_000_000
    for moment_id in ids[:-1]:
        with store.transaction() as tx:
            tx.drop_moment(moment_id)
    with store.view() as view:
        assert view.picture(ids[-1]) == picture
    with store.transaction() as tx:
        tx.drop_moment(ids[-1])
    with store.view() as view, pytest.raises(MemoryDirError, match=f"m{ids[-1]}"):
        view.picture(ids[-1])


def test_a_dropped_moment_is_gone_everywhere_and_its_id_is_not_given_again(store, making):
    with store.transaction() as tx:
        first, last = (tx.add_moment(making.moment(t, seen=(making.label("cat", 0.9), making.label("cat", 0.8)))) for t in (0, US))
        segment_id = tx.add_segment(making.segment([first, last], 0, US, representative_id=last))
        document_id = tx.add_document(making.document("a cat", segment_id=segment_id, moment_id=last))
    with store.transaction() as tx:
        tx.drop_moment(last)
        again = tx.add_moment(making.moment(2 * US))
        tx.drop_moment(again)
    with store.view() as view:
        assert view.names("label") == {"cat": 1}
        assert {p.moment_id for p in view.postings(["cat"])} == {first}
        assert [i for i, _ in view.vector_search(making.space.name, making.unit(US), 5)] == [first]
        assert [m.id for m in view.segment_moments(segment_id)] == [first]
        assert view.segment(segment_id).representative_id is None
        assert view.document(document_id).moment_id is None
    with store.transaction() as tx:
        assert tx.add_moment(making.moment(3 * US)) > again


def test_a_name_goes_with_the_last_moment_that_carries_it_and_its_id_is_not_given_again(store, making):
    def seen(t, *words):
        with store.transaction() as tx:
            return tx.add_moment(making.moment(t * US, seen=tuple(Observation("text", word, 0.9) for word in words)))

    def named():
        return {row[0] for row in store._connection.execute("SELECT name FROM term WHERE kind = 'text'")}

    first, second = seen(0, "alpha"), seen(1, "alpha", "beta")
    with store.view() as view:
        assert [o.name for o in view.observations([second])[second]] == ["alpha", "beta"]
        with store.transaction() as tx:
            tx.drop_moment(second)
        assert named() == {"alpha"}
        third = seen(2, "gamma", "alpha")
        assert [o.name for o in view.observations([third])[third]] == ["gamma", "alpha"]
        assert [o.name for o in view.observations([seen(3, "beta")])[4]] == ["beta"]
    with store.transaction() as tx:  # in one transaction: what comes is never what just went
        for moment_id in (first, third):
            tx.drop_moment(moment_id)
        again = tx.add_moment(making.moment(5 * US, seen=(Observation("text", "alpha", 0.9),)))
    with store.view() as view:
        assert [o.name for o in view.observations([again])[again]] == ["alpha"]
        assert view.names("text") == {"alpha": 1, "beta": 1}
    assert named() == {"alpha", "beta"}
    assert check_memory(store.directory) == []


def test_space_returned_by_dropping_goes_back_to_the_disk_in_steps(store, making):
    rng = np.random.default_rng(0)
    with store.transaction() as tx:
        ids = [tx.add_moment(making.moment(i * US, jpeg=rng.bytes(50_000))) for i in range(200)]
    full = store.disk_bytes()
    with store.transaction() as tx:
        for moment_id in ids:
            tx.drop_moment(moment_id)
    steps = 0
    while store.maintain():
        steps += 1
    directory = store.directory
    store.close()
    with Store.open(directory) as again:
        assert again.disk_bytes() < full / 10
    assert steps >= 5


def test_vectors_of_the_wrong_size_are_refused_by_name(store, making):
    with pytest.raises(EngineError, match="16 dimensions"), store.transaction() as tx:
        tx.add_moment(making.moment(0, vector=np.ones(3, np.float32)))
    with pytest.raises(EngineError, match="test/16"):
        store.ensure_space(Space(name=making.space.name, dim=32))
    store.ensure_space(Space(name=making.space.name, dim=16, calibration={"floor": 0.3}))


def test_a_replaced_document_stays_for_views_of_the_time_before(store, making):
    with store.transaction() as tx:
        old = tx.add_document(making.document("a quiet morning", known_us=10))
        new = tx.replace_document(old, making.document("a loud morning", known_us=20))
        with pytest.raises(MemoryDirError):
            tx.replace_document(old, making.document("twice", known_us=30))
    for as_of_us, expected in ((9, []), (10, [old]), (19, [old]), (20, [new]), (None, [new])):
        with store.view(as_of_us) as view:
            assert [d.id for d in view.documents()] == expected
            assert [hit.document.id for hit in view.search_text("morning", 5)] == expected
            assert all(document.until_us is None for document in view.documents())


def test_a_reader_sees_commits_while_the_writer_goes_on(store, making):
    with store.view() as view:
        for count in range(1, 4):
            with store.transaction() as tx:
                tx.add_moment(making.moment(count * US))
            assert len(view.moments()) == count
            assert view.vector_search(making.space.name, making.unit(count * US), 1)[0][0] == count


def test_upkeep_keeps_the_log_short(store, making):
    rng = np.random.default_rng(1)
    for i in range(30):
        with store.transaction() as tx:
            tx.add_moment(making.moment(i * US, jpeg=rng.bytes(1_000_000)))
        store.maintain()
    wal = store.directory / "memory.db-wal"
    assert wal.stat().st_size < 20 << 20


def test_upkeep_moves_what_waits_in_the_log_and_the_log_is_written_from_its_beginning_again(store, making):
    rng, sizes = np.random.default_rng(1), []
    for i in range(12):
        with store.transaction() as tx:
            tx.add_moment(making.moment(i * US, jpeg=rng.bytes(600_000)))
        assert store._wal.waiting_bytes() >= 600_000
        if i % 3 == 2:
            store.maintain()
            assert store._wal.waiting_bytes() == 0
            sizes.append(store._wal.size_bytes())
    assert 1_800_000 < sizes[1] < 3_000_000
    assert sizes[1] == sizes[2] == sizes[3]


def test_what_a_reader_still_needs_waits_in_the_log(store, making):
    with store.transaction() as tx:
        tx.add_moment(making.moment(0))
    with store.view() as view:
        view._connection.execute("BEGIN")
        view._connection.execute("SELECT count(*) FROM moment").fetchone()
        with store.transaction() as tx:
            tx.add_moment(making.moment(US, jpeg=bytes(2_000_000)))
        waiting = store._wal.waiting_bytes()
        store.maintain()
        assert store._wal.waiting_bytes() == waiting
        view._connection.execute("COMMIT")
    store.maintain()
    assert store._wal.waiting_bytes() == 0


def test_the_database_is_an_ordinary_sqlite_file_of_the_promised_make(store):
    directory = store.directory
    store.close()
    connection = sqlite3.connect(directory / "memory.db")
    try:
        pragmas = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "auto_vacuum", "journal_mode")}
        assert pragmas == {"page_size": 4096, "auto_vacuum": 2, "journal_mode": "wal"}
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert [row[0][:3] for row in connection.execute("SELECT name FROM _sqlite_migrations")] == ["v1_", "v2_", "v3_", "v4_"]
    finally:
        connection.close()


def test_an_empty_memory_answers_everything_with_nothing(store, making):
    with store.view() as view:
        assert view.bounds() is None
        assert view.streams() == []
        assert view.nearest(0) is None
        assert view.search_text("anything at all?", 5) == []
        assert view.search_text("", 5) == []
        assert view.postings(["cat"]) == []
        assert view.names("label") == {}
        assert view.vector_search("no such space", making.unit(0), 5) == []
        assert view.stats().moments == 0
        assert view.stats().oldest_us is None
    assert store.maintain() is False
