"""Vector search finds what an exact search over the originals finds, whatever happens to the sidecar."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity
from edgemem.remember.store import NewMoment, Store
from edgemem.remember.vectors import kernels, sidecar
from edgemem.remember.vectors.search import SpaceWriter
from edgemem.remember.view import View


def exact(vectors, query, k):
    return list(np.argsort(-(vectors @ query), kind="stable")[:k])


def fill(store, making, times_us, stream="cam"):
    with store.transaction() as tx:
        return [tx.add_moment(making.moment(t_us, stream=stream)) for t_us in times_us]


def found(view, making, query, k=1000, **filters):
    return [moment_id for moment_id, _ in view.vector_search(making.space.name, query, k, **filters)]


@pytest.mark.skipif(kernels.scan_numkong is None, reason="numkong is not installed")
@given(st.integers(0, 5000), st.integers(1, 1500), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_the_fast_kernel_equals_the_slow_one(rows, dim, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-128, 128, (rows, dim), dtype=np.int8)
    query = rng.integers(-128, 128, dim, dtype=np.int8)
    expected = matrix.astype(np.int64) @ query.astype(np.int64)
    assert np.array_equal(kernels.scan_numpy(matrix, query), expected)
    assert np.array_equal(kernels.scan_numkong(matrix, query), expected)


@given(st.integers(0, 5000), st.integers(1, 600), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_both_ways_of_counting_differing_signs_agree(rows, dim, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, (rows, dim), dtype=np.int8)
    query = rng.integers(-2, 3, (1, dim), dtype=np.int8)
    expected = ((matrix > 0) != (query > 0)).sum(axis=1)
    bits, wanted = kernels.signs(matrix), kernels.signs(query)[0]
    assert np.array_equal(kernels.hamming_numpy(bits, wanted), expected)
    assert np.array_equal(kernels.hamming(bits, wanted), expected)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=3000), st.integers(1, 400))
@settings(max_examples=60)
def test_the_nearest_are_no_farther_than_the_rest(values, k):
    distances = np.array(values, np.float32)
    inside = np.zeros(len(distances), bool)
    inside[kernels.nearest(distances, k)] = True
    assert min(k // 2, len(values)) <= inside.sum() <= 4 * k
    assert distances[inside].max() <= distances[~inside].min(initial=np.inf)


@given(st.lists(st.integers(-50, 50), max_size=2000), st.integers(1, 40))
@settings(max_examples=60)
def test_the_best_are_the_best(scores, k):
    values = np.array(scores, np.float32)
    assert sorted(values[kernels.best(values, k)]) == sorted(values)[max(0, len(values) - k) :]


def test_quantising_loses_less_than_half_a_step_and_bears_zero_rows():
    vectors = np.random.default_rng(0).normal(size=(100, 64)).astype(np.float32) * np.logspace(-6, 6, 100, dtype=np.float32)[:, None]
    vectors[7] = 0
    rows, scales = kernels.quantise(vectors)
    assert np.all(np.abs(rows * scales[:, None] - vectors) <= scales[:, None] * 0.501)
    assert not rows[7].any()


def test_search_returns_exact_cosines_in_exact_order(store, making):
    ids = fill(store, making, [i * US for i in range(800)])
    vectors = np.stack([making.unit(i * US) for i in range(800)])
    query = making.unit(12345)
    with store.view() as view:
        hits = view.vector_search(making.space.name, query, 10)
    assert [moment_id for moment_id, _ in hits] == [ids[i] for i in exact(vectors, query, 10)]
    np.testing.assert_allclose([score for _, score in hits], np.sort(vectors @ query)[::-1][:10], atol=1e-3)


def test_filters_by_time_stream_and_set(store, making):
    cam = fill(store, making, [i * US for i in range(100)])
    door = fill(store, making, [i * US + 1 for i in range(100)], stream="door")
    query = making.unit(1)
    with store.view() as view:
        assert set(found(view, making, query, from_us=10 * US, to_us=19 * US)) == set(cam[10:20] + door[10:19])
        assert set(found(view, making, query, stream="door")) == set(door)
        assert found(view, making, query, stream="nowhere") == []
        assert set(found(view, making, query, among=[*cam[:3], 999_999])) == set(cam[:3])
        assert set(found(view, making, query, among=cam, stream="door")) == set()
        assert set(found(view, making, query, among=cam[:50], from_us=40 * US)) == set(cam[40:50])
        assert len(found(view, making, query, 5)) == 5


@given(st.lists(st.lists(st.integers(0, 10**9), min_size=1, max_size=12), min_size=1, max_size=6), st.data())
@settings(max_examples=25)
def test_any_order_of_arrival_and_of_dropping_finds_exactly_what_is_there(making, batches, data):
    with making.store() as store, store.view() as view:
        alive = {}
        for batch in batches:
            alive.update(zip(fill(store, making, batch), batch, strict=True))
            gone = data.draw(st.lists(st.sampled_from(sorted(alive)), unique=True)) if alive else []
            with store.transaction() as tx:
                for moment_id in gone:
                    tx.drop_moment(moment_id)
                    del alive[moment_id]
            low, high = sorted(data.draw(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9))))
            expected = {moment_id for moment_id, t_us in alive.items() if low <= t_us <= high}
            assert set(found(view, making, making.unit(3), from_us=low, to_us=high)) == expected
        assert set(found(view, making, making.unit(3))) == set(alive)
        directory = store.directory
        store.close()
        with Store.open(directory) as again:
            assert set(found(view, making, making.unit(3))) == set(alive)
            for space in again._spaces.values():
                space.rebuild()
            assert set(found(view, making, making.unit(3))) == set(alive)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 7), max_size=4), st.booleans())
@settings(max_examples=5)
def test_sign_bits_first_finds_what_an_exact_search_finds(seed, drops, again):
    """In rows with cluster structure, whatever was dropped in whichever order."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(40, 32))[rng.integers(0, 40, 2000)] + 0.35 * rng.normal(size=(2000, 32))
    vectors = (latent @ rng.normal(size=(32, 256)) / 6 + 0.2 * rng.normal(size=(2000, 256))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    alive = np.ones(2001, bool)
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgemem.remember.vectors.search._SIGNS_LEAST", 100)
        patch.setattr("edgemem.remember.vectors.search._SIGNS_FEWEST", 250)
        space = Space(name="signs", dim=256)
        with Store.open(Path(name) / "memory") as store, store.view() as view:
            store.ensure_space(space)
            with store.transaction() as tx:
                for i, vector in enumerate(vectors):
                    moment = NewMoment(
                        stream="cam", seq=i, t_us=i * US, offset_us=i * US, width_px=1, height_px=1, sharpness=1.0, jpeg=b"x",
                        vectors={space.name: vector},
                    )  # fmt: skip
                    tx.add_moment(moment)
            alive[0] = False
            for eighth in drops:
                with store.transaction() as tx:
                    for moment_id in np.flatnonzero(alive[1:])[eighth::8] + 1:
                        tx.drop_moment(int(moment_id))
                        alive[moment_id] = False
                if again:
                    store.maintain()
            hits = 0
            ids = np.flatnonzero(alive)
            for query in vectors[rng.integers(0, 2000, 20)]:
                expected = ids[np.argsort(-(vectors[ids - 1] @ query))[:10]]
                hits += len(set(expected.tolist()) & {moment_id for moment_id, _ in view.vector_search(space.name, query, 10)})
            assert hits >= 0.99 * 200
            assert len(view.vector_search(space.name, vectors[0], 3000)) == len(ids)


@pytest.mark.parametrize("damage", ["flip a vector", "flip a sign", "flip a row", "cut", "remove", "empty", "other memory", "behind"])
def test_a_damaged_sidecar_changes_no_answer_and_is_repaired(store, making, directory, tmp_path, damage):
    fill(store, making, [i * US for i in range(50)])
    stale = {path: path.read_bytes() for path in (directory / "vectors").iterdir()}
    ids = fill(store, making, [i * US for i in range(50, 80)])
    store.close()
    signs, matrix, rows = sorted((directory / "vectors").iterdir())
    if damage.startswith("flip"):
        path = {"flip a vector": matrix, "flip a sign": signs, "flip a row": rows}[damage]
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x10
        path.write_bytes(data)
    elif damage == "cut":
        matrix.write_bytes(matrix.read_bytes()[:-5])
    elif damage == "remove":
        rows.unlink()
    elif damage == "empty":
        rows.write_bytes(b"")
    elif damage == "other memory":
        with Store.open(tmp_path / "other") as other:
            other.ensure_space(making.space)
            fill(other, making, [i * US for i in range(80)])
        (tmp_path / "other" / "vectors" / rows.name).rename(rows)
    else:
        for path, data in stale.items():
            path.write_bytes(data)
    query = making.unit(70 * US)
    with View.open(directory) as view:
        before = view.vector_search(making.space.name, query, 80)
    assert before[0][0] == ids[20]
    assert len(before) == 80
    with Store.open(directory) as again:
        repaired = {path.name: path.read_bytes() for path in (directory / "vectors").iterdir()}
        fill(again, making, [90 * US])
    assert len(repaired[matrix.name]) >= 80 * making.space.dim
    with View.open(directory) as view:
        assert view.vector_search(making.space.name, query, 81)[:3] == before[:3]


def test_rows_out_of_order_are_sorted_in_when_they_are_many(store, making, monkeypatch):
    monkeypatch.setattr("edgemem.remember.vectors.search._TAIL_LEAST", 10)
    fill(store, making, [i * US for i in range(100, 140)])
    fill(store, making, [i * US for i in range(30)])
    (space,) = store._spaces.values()
    assert space._header.ordered == 40
    store.maintain()
    assert space._header.ordered == space._header.count == 70
    with store.view() as view:
        assert len(found(view, making, making.unit(0), to_us=29 * US)) == 30


def test_a_forgotten_vector_leaves_the_sidecar_at_once(store, making, directory):
    ids = fill(store, making, [i * US for i in range(20)])
    matrix = next((directory / "vectors").glob("*.i8"))
    row = matrix.read_bytes()[5 * making.space.dim : 6 * making.space.dim]
    assert any(row)
    with store.transaction() as tx:
        tx.drop_moment(ids[5])
    assert row not in matrix.read_bytes()


def test_without_a_writable_sidecar_writing_goes_on(store, making, directory, caplog, monkeypatch):
    fill(store, making, [0])
    rows = next((directory / "vectors").glob("*.rows"))
    with monkeypatch.context() as full:
        full.setattr(sidecar, "_write", _disk_full)
        fill(store, making, [US])
    assert "slower" in caplog.text
    with store.view() as view:
        assert found(view, making, making.unit(US)) == [2, 1]
    fill(store, making, [2 * US])
    with store.view() as view:
        assert len(found(view, making, making.unit(US))) == 3
    assert rows.is_file()


def _disk_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "no space left")


FACES = Space(name="faces", dim=16)


def faces(store, making, count):
    """So many faces with their vectors."""
    store.ensure_space(FACES, "entity")
    with store.transaction() as tx:
        for number in range(count):
            tx.set_entity_vector(tx.add_entity(NewEntity(kind="face", name=f"face {number}", known_us=0)), FACES.name, making.unit(number))


def test_a_search_misses_nothing_between_two_writes_of_one_commit(tmp_path, making, monkeypatch):
    """A vector that replaces another is written in two steps: the old row is erased, the new one appended."""
    with Store.open(tmp_path / "memory") as store:
        faces(store, making, 3)
        append, seen = SpaceWriter.append, []

        def watched(self, *rows):
            with View.open(tmp_path / "memory") as view:
                seen.append(sorted(hit.entity.id for hit in view.nearest_entities(FACES.name, making.unit(9), 10)))
            append(self, *rows)

        monkeypatch.setattr(SpaceWriter, "append", watched)
        with store.transaction() as tx:
            tx.set_entity_vector(1, FACES.name, making.unit(9))
        assert seen == [[1, 2, 3]]
        with View.open(tmp_path / "memory") as view:
            assert [hit.entity.id for hit in view.nearest_entities(FACES.name, making.unit(9), 1)] == [1]


def test_a_write_that_fails_in_one_space_is_made_good_by_the_next(tmp_path, making, monkeypatch):
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(making.space)
        faces(store, making, 1)
        first, _ = fill(store, making, [US, 2 * US])
        write = os.pwrite

        def full(*_):
            raise OSError(errno.ENOSPC, "full")

        monkeypatch.setattr(os, "pwrite", full)
        with store.transaction() as tx:
            tx.set_entity_vector(tx.add_entity(NewEntity(kind="face", name="new", known_us=0)), FACES.name, making.unit(5))
            third = tx.add_moment(making.moment(3 * US))
        monkeypatch.setattr(os, "pwrite", write)
        with store.transaction() as tx:
            tx.set_entity_vector(tx.add_entity(NewEntity(kind="face", name="newer", known_us=0)), FACES.name, making.unit(6))
            tx.drop_moment(first)
            fourth = tx.add_moment(making.moment(4 * US))
        with store.view() as view:
            assert sorted(found(view, making, making.unit(3 * US))) == [2, third, fourth]
            assert found(view, making, making.unit(3 * US), 1) == [third]
            assert sorted(hit.entity.id for hit in view.nearest_entities(FACES.name, making.unit(5), 9)) == [1, 2, 3]
        directory = store.directory
    assert check_memory(directory) == []
