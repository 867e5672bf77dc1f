"""The directory never exceeds its cap, whatever is written; representatives of events are kept longest."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import simplejpeg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemem.config import KeepRule
from edgemem.errors import BudgetError, MemoryDirError
from edgemem.extend.testing import T0_US
from edgemem.infer.roles import Space
from edgemem.records import US, Observation, Quote
from edgemem.remember.check import check_memory
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewEntity, NewPart, NewPassage, NewRelation
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.rules import KeepRules
from edgemem.remember.store import NewDocument, NewMoment, Store
from edgemem.remember.tiers import AgeTiers, AgeTiersSettings, TierRule
from edgemem.remember.view import View

MIB = 1 << 20
SMALLEST_CAP = page_budget.MINIMUM_BYTES
SMALL_CAP = 8 * MIB
"""Below the minimum of the command line (conftest.py), so that it is soon full."""
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None


def picture(seed, side=320):
    """A JPEG of noise: large for its sides, so that few of them fill a memory."""
    noise = np.random.default_rng(seed).integers(0, 256, (side * 3 // 4, side, 3), np.uint8)
    return simplejpeg.encode_jpeg(noise, 90, "BGR")


PICTURES = [picture(seed) for seed in range(8)] + [picture(seed, 160) for seed in range(8)]


def used(directory):
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


@contextmanager
def memory(making, cap):
    """A memory under a cap, in RAM if possible: these tests write hundreds of megabytes."""
    with TemporaryDirectory(dir=FAST) as name, Store.open(Path(name) / "memory", budget_bytes=cap) as store:
        store.ensure_space(making.space)
        yield store


def unlike(jpeg, number):
    """The same picture with other bytes: a comment behind its end."""
    return jpeg + number.to_bytes(4, "big")


def events(store, making, count, per_event=5, *, seconds=1.0, start=0, size=0, names=("cat", "dog", "street", "tree")):
    """Write events of some moments each, like ingest; yields after every commit."""
    number = start
    for _ in range(count):
        ids = []
        t0 = number * seconds
        for _ in range(per_event):
            seen = tuple(making.label(name, 0.5) for name in (*names, f"only {number}")[number % 3 :])
            jpeg = unlike(PICTURES[(number * 7 + size) % len(PICTURES)], number)
            with store.transaction() as tx:
                ids.append(tx.add_moment(making.moment(round(number * seconds * US), jpeg=jpeg, seen=seen)))
            number += 1
            yield
        t0_us, t1_us = round(t0 * US), round((number - 1) * seconds * US)
        with store.transaction() as tx:
            there = tx.remaining(ids)
            chosen = there[len(there) // 2]
            segment_id = tx.add_segment(making.segment(there, t0_us, t1_us, representative_id=chosen))
            tx.add_document(
                making.document(f"event {number} a cat and a dog", t0_us, t1_us, t1_us, segment_id=segment_id, moment_id=chosen)
            )
        yield


def promises(store):
    """Every event has its picture or reports that it is gone; the first and the latest frame exist."""
    with store.view() as view:
        for document in view.documents(kinds=["event"]):
            moment = view.moment(document.moment_id) if document.moment_id is not None else None
            if moment is not None and moment.tier != "stub":
                assert view.picture(moment.id)
            elif moment is not None:
                with pytest.raises(MemoryDirError, match="faded"):
                    view.picture(moment.id)
        moments = view.moments()
        assert view.picture(moments[0].id)
        assert view.picture(moments[-1].id)
        return moments[0].t_us, moments[-1].t_us


@given(
    cap=st.integers(SMALL_CAP, 2 * SMALL_CAP),
    bursts=st.lists(
        st.tuples(st.integers(1, 12), st.integers(1, 20), st.sampled_from([0.1, 1.0, 60.0]), st.integers(0, 15)), min_size=1, max_size=6
    ),
    pins=st.sets(st.integers(0, 100), max_size=10),
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_written_the_directory_stays_below_its_cap(making, cap, bursts, pins):
    with memory(making, cap) as store:
        number = 0
        for count, per_event, seconds, size in bursts:
            for _ in events(store, making, count, per_event, seconds=seconds, start=number, size=size):
                assert used(store.directory) <= cap
                number += 1
            number += 1
            with store.transaction() as tx:
                for moment_id in pins:
                    tx.pin(moment_id)
            store.maintain()
            assert used(store.directory) <= cap
        first_us, last_us = promises(store)
        assert first_us <= last_us
        directory = store.directory
        store.close()
        assert used(directory) <= cap
        assert check_memory(directory) == []


def test_ten_times_the_cap(making):
    cap = SMALL_CAP
    with memory(making, cap) as store:
        written = 0
        for i, _ in enumerate(events(store, making, 400, 5)):
            written += len(PICTURES[(i * 7) % len(PICTURES)])
            assert used(store.directory) <= cap
            if i % 10 == 0:
                store.maintain()
        assert written > 10 * cap
        assert promises(store) == (0, 1999 * US)
        with store.view() as view:
            stats = view.stats()
            assert stats.documents == 400
            assert stats.budget_bytes == cap
            assert stats.disk_bytes <= cap
            assert stats.tiers["recent"] > 0
        store.close()
        assert check_memory(store.directory) == []


def test_the_smallest_budget_that_may_be_set_holds_too(making, monkeypatch):
    """Pictures of 1.5 MB each, as a 4K camera may give, to twice the cap."""
    monkeypatch.setattr(page_budget, "MINIMUM_BYTES", SMALLEST_CAP)
    with memory(making, SMALLEST_CAP) as store:
        for number in range(100):
            jpeg = np.random.default_rng(number).bytes(1_500_000)
            with store.transaction() as tx:
                tx.add_moment(making.moment(2 * number * US, jpeg=jpeg))
                tx.add_moment(making.moment((2 * number + 1) * US, jpeg=unlike(PICTURES[number % 8], number)))
            assert used(store.directory) <= SMALLEST_CAP
        store.maintain()
        assert promises(store) == (0, 199 * US)
        store.close()
        assert check_memory(store.directory) == []


def test_parts_and_jobs_keep_to_the_cap(making):
    """Postponed work is deleted when nothing else is left, the oldest first; parts are deleted with their moments."""
    with memory(making, SMALL_CAP) as store:
        store.ensure_space(Space(name="looks/16", dim=16), holds="part")
        for number in range(400):
            with store.transaction() as tx:
                moment_id = tx.add_moment(making.moment(number * US, jpeg=bytes(200) + number.to_bytes(4, "big")))
                for i in range(4):
                    tx.add_part(NewPart(kind="face", score=0.5, moment_id=moment_id, vectors={"looks/16": making.unit(number * 4 + i)}))
                tx.add_job("w", "cam", np.random.default_rng(number).bytes(40_000), number)
            assert used(store.directory) <= SMALL_CAP
        with store.view() as view:
            jobs = [state.id for state in view.jobs()]
            assert 0 < len(jobs) < 400
            assert jobs == list(range(401 - len(jobs), 401))
            parts = view.parts()
            assert {part.moment_id for part in parts} == {moment.id for moment in view.moments()}
            assert len(view.nearest_parts("looks/16", making.unit(1), 9999)) == len(parts)
        store.close()
        assert check_memory(store.directory) == []


@pytest.mark.parametrize("holds", ["part", "entity"])
def test_vectors_of_parts_and_entities_count_in_a_transaction(making, holds):
    """A page for its vector and eight others each: 18 fit into the 163 pages that a transaction may take under this cap."""
    with memory(making, SMALL_CAP) as store:
        store.ensure_space(Space(name="large", dim=2048), holds=holds)
        with store.transaction() as tx:
            moment_id = tx.add_moment(making.moment(0))
        with store.transaction() as tx:
            entity_id = tx.add_entity(NewEntity(kind="face", name="face 1", known_us=0))
        vector, written = np.zeros(2048, np.float32), []

        def fill(tx):
            while len(written) < 100:
                if holds == "part":
                    tx.add_part(NewPart(kind="face", score=1.0, moment_id=moment_id, vectors={"large": vector}))
                else:
                    tx.set_entity_vector(entity_id, "large", vector)
                written.append(holds)

        with pytest.raises(BudgetError, match="does not fit"), store.transaction() as tx:
            fill(tx)
        assert len(written) == 18
        with store.view() as view:
            assert view.parts() == view.nearest_entities("large", vector, 1) == []


def test_a_job_counts_in_a_transaction(making):
    with memory(making, SMALL_CAP) as store:
        with store.transaction() as tx:
            tx.add_job("w", "cam", bytes(600_000), 0)
        with pytest.raises(BudgetError, match="does not fit"), store.transaction() as tx:
            tx.add_job("w", "cam", bytes(800_000), 0)
        with store.view() as view:
            assert len(view.jobs()) == 1


def test_a_budget_below_the_minimum_is_refused_before_a_byte_is_written(directory, monkeypatch):
    monkeypatch.setattr(page_budget, "MINIMUM_BYTES", SMALLEST_CAP)
    with pytest.raises(BudgetError, match=r"^budget\.disk is 63\.0MiB: set it to 64MiB or more$"):
        Store.open(directory, budget_bytes=63 * MIB)
    assert not directory.exists()
    Store.open(directory, budget_bytes=64 * MIB).close()


def test_a_write_that_can_never_fit_is_refused_and_seeing_goes_on(making):
    with memory(making, SMALL_CAP) as store:
        with pytest.raises(BudgetError, match="write less at a time"), store.transaction() as tx:
            tx.add_moment(making.moment(0, jpeg=bytes(2 * MIB)))
        with store.transaction() as tx:
            tx.add_moment(making.moment(US, jpeg=PICTURES[0]))
        with store.view() as view:
            assert [m.t_us for m in view.moments()] == [US]


def test_pins_stay_and_no_more_can_be_pinned_than_half_the_budget(making):
    with memory(making, SMALL_CAP) as store:
        pinned = []

        def pin(number):
            with store.transaction() as tx:
                moment_id = tx.add_moment(making.moment(number * US, jpeg=unlike(PICTURES[number % 8], number)))
                tx.pin(moment_id)
            pinned.append((moment_id, number))

        with pytest.raises(BudgetError, match="unpin others"):
            deque(map(pin, range(1000)), maxlen=0)
        for _ in events(store, making, 100, start=1000):
            assert used(store.directory) <= SMALL_CAP
        assert [store.picture(moment_id) for moment_id, _ in pinned] == [unlike(PICTURES[n % 8], n) for _, n in pinned]


def test_a_smaller_budget_is_kept_to_from_the_start(making):
    with memory(making, 4 * SMALL_CAP) as store:
        for _ in events(store, making, 150, 5):
            pass
        store.close()
        assert used(store.directory) > SMALL_CAP
        with Store.open(store.directory, budget_bytes=SMALL_CAP) as smaller:
            assert used(smaller.directory) <= SMALL_CAP
            assert promises(smaller) == (0, 749 * US)
        with Store.open(store.directory) as free, free.view() as view:
            assert view.stats().budget_bytes == SMALL_CAP


def test_what_was_seen_once_outlives_what_is_always_there(making):
    with memory(making, SMALL_CAP) as store:
        rare = {37, 138, 241, 555}
        for number in range(1000):
            names = ["street", "tree", *(["a red fox"] if number in rare else [])]
            with store.transaction() as tx:
                seen = tuple(making.label(name, 0.5) for name in names)
                jpeg = number.to_bytes(4, "big") * 5000  # no picture that could be made smaller
                tx.add_moment(making.moment(number * US, jpeg=jpeg, seen=seen, vector=making.unit(1)))
        with store.view() as view:
            assert len(view.moments()) < 500
            assert {posting.t_us // US for posting in view.postings(["a red fox"])} == rare


def test_a_reader_that_stays_cannot_make_the_log_outgrow_the_cap(making, monkeypatch):
    monkeypatch.setattr("edgemem.remember.budget.maintenance._READER_PATIENCE_S", 0.1)
    with memory(making, SMALL_CAP) as store:
        writing = events(store, making, 1000)
        next(writing)
        with store.view() as view:
            view._connection.execute("BEGIN")
            view.moments()
            with pytest.raises(BudgetError, match="a reader has prevented a cut of the log"):
                deque(writing, maxlen=0)
            assert used(store.directory) <= SMALL_CAP
            view._connection.execute("COMMIT")
        for _ in events(store, making, 20, start=2000):
            assert used(store.directory) <= SMALL_CAP


def test_when_only_words_are_left_the_oldest_words_go(making):
    """Thousands of events with little pictures: their documents alone are larger than the cap."""
    with memory(making, SMALL_CAP) as store:
        jpeg, words = bytes(500), " ".join(f"word{i}" for i in range(150))
        for number in range(0, 6000, 3):
            with store.transaction() as tx:
                for i in range(number, number + 3):
                    moment_id = tx.add_moment(making.moment(i * US, jpeg=unlike(jpeg, i)))
                    segment_id = tx.add_segment(making.segment([moment_id], i * US, i * US, representative_id=moment_id))
                    text = f"event {i} {words} {i * 7919}"
                    tx.add_document(making.document(text, i * US, i * US, i * US, segment_id=segment_id, moment_id=moment_id))
            assert used(store.directory) <= SMALL_CAP
        first_us, last_us = promises(store)
        assert (first_us, last_us) == (0, 5999 * US)
        with store.view() as view:
            numbers = [int(document.text.split()[1]) for document in view.documents(kinds=["event"])]
            assert 300 < len(numbers) < 6000
            assert numbers[-1000:] == list(range(6000 - min(1000, len(numbers)), 6000))[-1000:]
        store.close()
        assert check_memory(store.directory) == []


def test_words_outlive_pictures_when_age_alone_empties_the_young_tiers(tmp_path: Path) -> None:
    """Moments get old faster than the budget needs: none is left in the young tiers, and still pictures are deleted before documents."""
    rng = np.random.default_rng(0)
    tiers = AgeTiers()
    with Store.open(tmp_path / "memory", budget_bytes=8 << 20) as store:
        for number in range(220):
            t_us = number * 1800 * US  # a moment every half hour: most are older than a day
            with store.transaction() as tx:
                moment_id = tx.add_moment(
                    NewMoment(
                        stream="s", seq=number, t_us=T0_US + t_us, offset_us=t_us, width_px=64, height_px=64, sharpness=1.0,
                        jpeg=rng.bytes(60_000), vectors={},
                    )
                )  # fmt: skip
                tx.add_document(
                    NewDocument(
                        kind="event", text=f"event number{number}", stream="s", t0_us=T0_US + t_us, t1_us=T0_US + t_us, offset_us=t_us,
                        known_us=T0_US + t_us, origin="caption",
                    )
                )  # fmt: skip
                assert moment_id
            tiers.apply(store)
        assert store.disk_bytes() <= 8 << 20
        with store.view() as view:
            assert len(view.documents(kinds=["event"])) == 220


def test_speech_and_what_people_did_keep_to_the_cap(making):
    """More than the cap in words, passages, people and relations, with hardly a picture: the oldest are deleted, the latest are kept."""
    rng = np.random.default_rng(0)
    space = Space(name="words/64", dim=64)
    with memory(making, SMALL_CAP) as store:
        store.ensure_space(space, holds="passage")
        written = 0
        for number in range(240):
            with store.transaction() as tx:
                tx.add_moment(making.moment(number * US, jpeg=unlike(PICTURES[8], number)))
            with store.transaction() as tx:
                people = [tx.add_entity(NewEntity(kind="person", name=f"person {number} {i} {'x' * 200}", known_us=number)) for i in (0, 1)]
                text = " ".join(f"w{word}" for word in rng.integers(0, 10**6, 2500))
                parts = tuple(
                    NewPassage(kind="field", text=f"{i} {text[:1000]}", vectors={space.name: making.unit(i, 64)}) for i in range(3)
                )
                span = {"t0_us": number * US, "t1_us": number * US, "known_us": number * US, "kind": "utterance", "origin": "asr"}
                said = tx.add_document(making.document(text, **span, passages=parts, speaker_id=people[0]))
                edge = {"source_id": people[0], "target_id": people[1], "stream": "cam", "t0_us": number * US, "t1_us": number * US}
                quotes = (Quote(text=text[:2000], origin="asr", document_id=said),)
                tx.add_relation(NewRelation(type="TALKS_TO", known_us=number * US, quotes=quotes, **edge))
            written += 2 * len(text)  # its words stand in the full text once more
            assert used(store.directory) <= SMALL_CAP
        assert written > SMALL_CAP
        with store.view() as view:
            kept = view.utterances()
            assert kept[-1].document.t0_us == 239 * US
            assert [s.document.t0_us // US for s in kept] == list(range(240 - len(kept), 240))
            assert len(kept) < 239
            assert view.relations()[-1].t0_us == 239 * US
            assert len(view.entities()) < 2 * 240
            assert len(view.search_passages(space.name, making.unit(1, 64), 999)) == 3 * len(kept)
        directory = store.directory
        assert check_memory(directory) == []


def test_the_words_of_deleted_documents_do_not_fill_the_cap(making):
    """The full text keeps them, and a mark for each, until it is merged: a memory that only reads text lost all of it in the end."""
    rng = np.random.default_rng(1)
    vocabulary = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), rng.integers(2, 10))) for _ in range(20_000)])
    with memory(making, SMALL_CAP) as store:
        for number in range(0, 4500, 5):
            with store.transaction() as tx:
                for at_us in ((number + i) * US for i in range(5)):
                    span = {"t0_us": at_us, "t1_us": at_us, "known_us": at_us, "kind": "text", "origin": "ocr"}
                    tx.add_document(making.document(" ".join(rng.choice(vocabulary, 42)), **span))
            assert number < 2500 or number % 500 or used(store.directory) <= SMALL_CAP
        with store.view() as view:
            kept = view.documents(kinds=["text"], limit=9999)
        assert len(kept) > 2000
        assert kept[-1].t0_us == 4499 * US
        assert kept[0].t0_us > 0
        directory = store.directory
        assert check_memory(directory) == []


def test_a_memory_of_which_nothing_may_be_evicted_says_so_where_a_stream_begins_without_a_picture(making):
    with memory(making, SMALL_CAP) as store:
        with store.transaction() as tx:
            tx.stub_moment(tx.add_moment(making.moment(US)))

        def fill_up():
            for number in range(60):
                with store.transaction() as tx:
                    tx.set_state(f"see/cam{number}", bytes(200 << 10))

        with pytest.raises(BudgetError, match="nothing is left that may be evicted"):
            fill_up()


def dense(making, second):
    """Every fourth moment takes more than half of the smallest transaction to drop."""
    large = second % 4 == 3
    seen = tuple(Observation("text", f"{second} {i} {'z' * 40}", 0.9) for i in range(60 if large else 1))
    return making.moment(second * US, jpeg=np.random.default_rng(second).bytes(150_000 if large else 500), seen=seen)


def described(making, second):
    """Every fifth document does, with its passages."""
    parts = range(12 if second % 5 == 4 else 0)
    passages = tuple(NewPassage(kind="document", text=f"w{second} part {i}", vectors={"words/16": making.unit(i)}) for i in parts)
    return making.document(f"w{second}", second * US, second * US, second * US, passages=passages)


@pytest.mark.parametrize("way", ["forget", "rules", "tiers", "budget"])
def test_moments_and_documents_of_any_size_go_below_the_smallest_cap(making, way):
    with memory(making, SMALL_CAP) as store:
        store.ensure_space(Space(name="words/16", dim=16), holds="passage")
        for second in range(24 if way != "budget" else 120):
            with store.transaction() as tx:
                tx.add_moment(dense(making, second))
            with store.transaction() as tx:
                tx.add_document(described(making, second))
        if way == "rules":
            while not KeepRules([KeepRule(stream="cam", keep_days=1)]).apply(store, 3 * 86_400 * US).done:
                pass
        if way == "tiers":
            tiers = (TierRule("recent", 3600), TierRule("long", None, gap_s=3600))
            while not AgeTiers(AgeTiersSettings(tiers=tiers)).apply(store, 86_400 * US).done:
                pass
        store.close()
        if way == "forget":
            forget(store.directory, Wanted(stream="cam"))
        with View.open(store.directory) as view:
            left = len(view.moments())
        assert left == 0 if way in {"forget", "rules"} else left > 0
        assert used(store.directory) <= SMALL_CAP
        assert check_memory(store.directory) == []


def test_a_cap_that_is_lowered_far_below_the_size_of_its_pictures(making):
    large = [picture(seed, 1600) for seed in range(2)]
    assert min(map(len, large)) > SMALL_CAP // 10  # more than one of its transactions
    with memory(making, 64 * MIB) as store:
        for second in range(16):
            with store.transaction() as tx:
                tx.add_moment(making.moment(second * US, jpeg=unlike(large[second % 2], second)))
        assert used(store.directory) > 2 * SMALL_CAP
        store.close()
        with Store.open(store.directory, budget_bytes=SMALL_CAP) as smaller:
            for second in range(16, 24):
                with smaller.transaction() as tx:
                    tx.add_moment(making.moment(second * US, jpeg=unlike(PICTURES[second % 8], second)))
                assert used(store.directory) <= SMALL_CAP
            with smaller.view() as view:
                moments = view.moments()
                assert {0, 23} <= {moment.seq for moment in moments}
                assert all(view.picture(moment.id) for moment in (moments[0], moments[-1]))
        assert check_memory(store.directory) == []
