"""Vectors that come after their moment or document was stored, and texts whose vectors never come."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from edgemem.errors import EngineError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember import entries
from edgemem.remember.check import check_memory
from edgemem.remember.disk import keys
from edgemem.remember.entries import NewPassage, embedded
from edgemem.remember.store import Store
from edgemem.remember.view import View

LATE = Space(name="late/8", dim=8)


@pytest.fixture
def late(store, making):
    """A store of six moments, none of which has its vector in the second space; and their ids."""
    store.ensure_space(LATE)
    with store.transaction() as tx:
        return store, [tx.add_moment(making.moment(second * US)) for second in range(6)]


def give(store, making, *moment_ids):
    with store.transaction() as tx:
        for moment_id in moment_ids:
            tx.add_moment_vector(moment_id, LATE.name, making.unit(moment_id, 8))


def found(view, making, moment_id):
    return view.vector_search(LATE.name, making.unit(moment_id, 8), 1)[0][0]


def test_what_waits_is_listed_oldest_first_and_only_where_the_space_is(late):
    store, ids = late
    with store.view() as view:
        assert [moment.id for moment in view.moments_without_vector(LATE.name, 4)] == ids[:4]
        assert [moment.id for moment in view.moments_without_vector(LATE.name, 2, newest_first=True)] == ids[:3:-1]
        assert view.moments_without_vector("test/16", 9) == []
        assert view.moments_without_vector("unknown", 9) == []


def test_a_moment_whose_picture_has_faded_waits_for_nothing(late):
    store, ids = late
    with store.transaction() as tx:
        tx.connection.execute("UPDATE moment SET tier = 'stub', blob_id = NULL WHERE id = ?", (ids[0],))
    with store.view() as view:
        assert [moment.id for moment in view.moments_without_vector(LATE.name, 9)] == ids[1:]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 5, 0, 3, 1, 4]])
def test_vectors_are_found_in_whatever_order_they_came(late, making, directory, order):
    store, ids = late
    for index in order:
        give(store, making, ids[index])
        with store.view() as view:
            assert found(view, making, ids[index]) == ids[index], "also by those who read the files of before"
    store.close()
    with View.open(directory) as view:
        assert [found(view, making, moment_id) for moment_id in ids] == ids
        assert view.moments_without_vector(LATE.name, 9) == []
        between = view.vector_search(LATE.name, making.unit(1, 8), 9, from_us=2 * US, to_us=4 * US)
        assert {moment_id for moment_id, _ in between} == set(ids[2:5])
    assert check_memory(directory) == []


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 5, 0, 3, 1, 4]])
def test_an_encrypted_memory_finds_them_too(making, tmp_path, order):
    """Its readers keep the vectors in the process, and read only what was added after the newest moment that they know."""
    pytest.importorskip("sqlcipher3", reason="sqlcipher3 has no wheel for this Python: pip install 'edgemem-agent[encrypted]'")
    with keys.using(keys.Key("00" * 32, "the test's key")), Store.open(tmp_path / "m") as store:
        store.ensure_space(making.space)
        store.ensure_space(LATE)
        with store.transaction() as tx:
            ids = [tx.add_moment(making.moment(second * US)) for second in range(6)]
        for index in order:
            give(store, making, ids[index])
            with store.view() as view:
                assert found(view, making, ids[index]) == ids[index]


def test_vectors_that_come_in_order_are_added_without_a_rebuild(late, making):
    store, ids = late
    epochs = []
    for moment_id in (*ids[1:], ids[0]):
        give(store, making, moment_id)
        with store.view() as view:
            epochs.append(view._all("SELECT epoch FROM vec_space WHERE name = 'late/8'")[0][0])
    assert epochs == [0, 0, 0, 0, 0, 1], "only the last one is older than another that has its vector"


def test_several_late_vectors_in_one_transaction_are_all_found(late, making):
    store, ids = late
    give(store, making, *ids[3:])
    with store.view() as view:
        assert found(view, making, ids[4]) == ids[4]
    give(store, making, *ids[:3])
    with store.view() as view:
        assert [found(view, making, moment_id) for moment_id in ids] == ids


def test_a_moment_that_is_gone_gets_none_and_a_wrong_space_is_refused(late, making):
    store, ids = late
    with store.transaction() as tx:
        tx.drop_moment(ids[5])
    give(store, making, ids[5])
    with store.view() as view:
        assert view.vector_search(LATE.name, making.unit(1, 8), 9) == []
    with pytest.raises(EngineError, match="unknown to this memory"), store.transaction() as tx:
        tx.add_moment_vector(ids[0], "nowhere", making.unit(1, 8))
    with pytest.raises(EngineError, match="8 dimensions"), store.transaction() as tx:
        tx.add_moment_vector(ids[0], LATE.name, making.unit(1, 16))


class Away:
    """An embedder behind a server that does not answer."""

    space = Space(name="away", dim=2)

    def embed_text(self, texts):
        raise EngineError(f"the server is away ({len(texts)} texts)")


def test_a_document_whose_text_could_not_be_embedded_is_kept_and_said_once(making, caplog, tmp_path):
    entries._warn_once.cache_clear()
    ready = NewPassage(kind="chunk", text="a", vectors={"other": np.ones(1, np.float32)})
    bare = NewPassage(kind="document", text="a mug", vectors={})
    with caplog.at_level(logging.WARNING):
        made = [embedded(making.document("a mug", passages=(bare, ready)), Away()) for _ in range(3)]
    assert [one.passages for one in made] == [(ready,)] * 3
    assert [record.message for record in caplog.records] == ["documents are found by their words alone: the server is away (1 texts)"]
    with Store.open(tmp_path / "m") as store:
        store.ensure_stream("cam", 0)
        with store.transaction() as tx:
            tx.add_document(embedded(making.document("a mug", passages=(bare,)), Away()))
        with store.view() as view:
            assert view.search_text("mug", 1)
