"""Forgotten data is in no file any more; other data is unchanged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import MemoryDirError, UsageError
from edgemem.infer.roles import Space
from edgemem.records import US, Observation, Quote
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewMention, NewPassage, NewRelation
from edgemem.remember.forget import Wanted, finish_forgetting, forget
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.carry_out import describing
from edgemem.see.write import EventDocument

RUN = 64
"""Bytes of a picture that may not be found in a row."""


def word(i):
    """A word that nothing else contains."""
    return "w" + "".join(chr(97 + (i * 7919 + 104729) // 26**k % 26) for k in range(7))


def jpeg(i):
    return b"\xff\xd8" + np.random.default_rng(i).bytes(3000 + 997 * (i % 7))


def fill(store, making, count=60, stream="cam", offset=0):
    """`count` moments ten seconds apart, each with a word read in it; segments of five, described; returns the moments' ids."""
    store.ensure_space(making.space)
    ids = []
    for start in range(0, count, 5):
        with store.transaction() as tx:
            inside = []
            for i in range(start, min(count, start + 5)):
                seen = (making.label("cat", 0.9), Observation("text", f"Sign {word(offset + i)}", 0.9))
                new = making.moment(i * 10 * US, stream=stream, jpeg=jpeg(offset + i), seen=seen)
                inside.append(tx.add_moment(new))
                text = making.document(
                    f"Sign {word(offset + i)}", i * 10 * US, i * 10 * US, i * 10 * US, kind="text", origin="ocr", moment_id=inside[-1],
                    stream=stream,
                )  # fmt: skip
                tx.add_document(text)
            ids += inside
            t0, t1 = start * 10 * US, (start + len(inside) - 1) * 10 * US
            segment_id = tx.add_segment(making.segment(inside, t0, t1, inside[len(inside) // 2], stream=stream))
            said = " ".join(word(offset + i) for i in range(start, start + len(inside)))
            event = making.document(f"Text: {said}", t0, t1, t1, segment_id=segment_id, moment_id=inside[0], stream=stream)
            tx.add_document(event)
            tx.set_state(f"see/{stream}", jpeg(offset + start + len(inside) - 1))
    return ids


def everything(directory):
    return b"\0\0".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


def traces(directory, numbers):
    """The data of these moments that is still found."""
    data = everything(directory)
    low = data.lower()
    found = [f"word of {i}" for i in numbers if word(i).encode() in low]
    for i in numbers:
        picture = jpeg(i)
        found += [f"picture {i} at {at}" for at in range(0, len(picture) - RUN, RUN) if picture[at : at + RUN] in data]
    return found


def runs_of(directory, numbers):
    """Every run of 64 bytes of these pictures that is in a file, wherever it begins."""
    windows = {picture[at : at + RUN] for i in numbers for picture in [jpeg(i)] for at in range(len(picture) - RUN)}
    data = everything(directory)
    return sum(data[at : at + RUN] in windows for at in range(len(data) - RUN))


def snapshot(directory):
    """Every file with a byte in it; an open reader leaves its shared memory and an empty log behind, whatever it reads."""
    files = [path for path in directory.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {path.name: data for path in files if (data := path.read_bytes())}


@pytest.fixture
def memory(directory, making):
    with Store.open(directory) as store:
        fill(store, making)
    return directory


def test_a_time_range_is_in_no_file_any_more_and_the_rest_is_as_it_was(memory, making):
    assert len(traces(memory, [33])) > 10
    receipt = forget(memory, Wanted(from_us=200 * US, to_us=409 * US), describe=describing(lambda _: [EventDocument()]))
    assert (receipt.moments, len(receipt.id)) == (21, 12)
    assert traces(memory, range(20, 41)) == []
    assert runs_of(memory, range(20, 41)) == 0
    assert runs_of(memory, [19]) > 1000
    assert check_memory(memory) == []
    with View.open(memory) as view:
        assert [m.t_us // US for m in view.moments()] == [*range(0, 200, 10), *range(410, 600, 10)]
        assert {i for i, _ in view.vector_search(making.space.name, making.unit(1), 999)} == {m.id for m in view.moments()}
        assert [view.picture(m.id) for m in view.moments()] == [jpeg(i) for i in (*range(20), *range(41, 60))]
        assert view.search_text(word(33), 5) == []
        assert {hit.document.kind for hit in view.search_text(word(12), 5)} == {"text", "event"}
        assert view.names("label") == {"cat": 39}
        cut = view.segments(from_us=410 * US, to_us=440 * US)[0]
        assert (cut.t0_us, cut.t1_us) == (410 * US, 440 * US)
        assert cut.representative_id in {m.id for m in view.segment_moments(cut.id)}
        told = [d.text for d in view.documents(kinds=["event"], from_us=410 * US, to_us=440 * US)]
        assert len(told) == 1
        assert all(word(i) in told[0] for i in range(41, 45))


def test_a_dry_run_counts_the_same_and_changes_no_byte(memory):
    before = snapshot(memory)
    wanted = Wanted(from_us=0, to_us=95 * US)
    would = forget(memory, wanted, dry_run=True)
    assert snapshot(memory) == before
    did = forget(memory, wanted)
    assert would.id == ""
    assert (would.moments, would.documents, would.relations, would.bytes) == (did.moments, did.documents, did.relations, did.bytes)
    assert (did.moments, did.documents) == (10, 12)
    assert did.bytes > sum(len(jpeg(i)) for i in range(10))


def test_a_stream_goes_with_its_name_and_state(memory, making):
    with Store.open(memory) as store:
        fill(store, making, 12, stream="secret door", offset=100)
    with pytest.raises(UsageError, match="did you mean"):
        forget(memory, Wanted(stream="secret dor"))
    assert forget(memory, Wanted(stream="secret door")).moments == 12
    assert traces(memory, range(100, 112)) == []
    assert b"secret door" not in everything(memory)
    assert check_memory(memory) == []
    with View.open(memory) as view:
        assert [s.name for s in view.streams()] == ["cam"]
    with Store.open(memory) as store:
        assert store.state("see/secret door") is None
        assert store.state("see/cam") is not None


def test_a_piece_of_evidence_takes_what_proves_it(memory):
    with View.open(memory) as view:
        (text,) = [hit.document for hit in view.search_text(word(7), 5) if hit.document.kind == "text"]
        event = view.documents(kinds=["event"])[6]
    forget(memory, Wanted(evidence=(f"d{text.id}",)))
    assert traces(memory, [7]) == []
    forget(memory, Wanted(evidence=(f"d{event.id}", "m60")))
    assert traces(memory, [*range(30, 35), 59]) == []
    assert traces(memory, [6, 8, 29, 35, 58]) != []
    for bad in ("d999", f"d{text.id}", "x1", "m"):
        with pytest.raises(UsageError):
            forget(memory, Wanted(evidence=(bad,)))
    with View.open(memory) as view:
        assert len(view.moments()) == 60 - 1 - 5 - 1
    assert check_memory(memory) == []


def test_a_person_goes_with_aliases_mentions_relations_and_what_only_they_knew(memory, making):
    with Store.open(memory) as store, store.transaction() as tx:
        anna, bob, cup, place = (
            tx.add_entity(NewEntity(kind=kind, name=name, known_us=0))
            for kind, name in (("person", "Annabella Quist"), ("person", "Bob"), ("object", "zinc goblet"), ("location", "Café Zyx"))
        )
        tx.add_alias(anna, "Quisty", 0)
        told = tx.add_document(making.document("Bob spoke with ANNABELLA  quist", 0, US, 0, kind="caption"))
        other = tx.add_document(making.document("Bob drank a coffee", 0, US, 0, kind="caption"))
        tx.add_mention(NewMention(entity_id=anna, known_us=0, moment_id=4))
        tx.add_mention(NewMention(entity_id=bob, known_us=0, document_id=other))
        kind = {"stream": "cam", "t0_us": 0, "t1_us": US, "known_us": 0}
        quote = Quote(text="spoke with the Quist woman", origin="asr", document_id=told)
        tx.add_relation(NewRelation(type="TALKS_TO", source_id=bob, target_id=anna, quotes=(quote,), **kind))
        tx.add_relation(NewRelation(type="USES", source_id=anna, target_id=cup, **kind))
        stays = tx.add_relation(NewRelation(type="VISITS", source_id=bob, target_id=place, **kind))
    receipt = forget(memory, Wanted(entity="quisty"))
    assert (receipt.moments, receipt.relations) == (1, 2)
    assert [name for name in (b"nnabella", b"uist", b"UIST", b"zinc") if name in everything(memory)] == []
    assert traces(memory, [3]) == []
    with View.open(memory) as view:
        assert {e.name for e in view.entities()} == {"Bob", "Café Zyx"}
        assert [r.id for r in view.relations()] == [stays]
        assert view.document(other) is not None
    with pytest.raises(UsageError, match="nothing called"):
        forget(memory, Wanted(entity="Quisty"))
    assert check_memory(memory) == []


def test_what_was_said_and_who_said_it_is_in_no_file_any_more(memory, making):
    words = Space(name="words/64", dim=64)

    def said(i, speaker_id):
        text = f"{word(300 + i)} was said"
        passages = tuple(
            NewPassage(kind=kind, text=part, vectors={words.name: making.unit(900 + i, 64)})
            for kind, part in (("document", text), ("field", f"heard {word(400 + i)}"))
        )
        span = (i * 10 * US, i * 10 * US + US, i * 10 * US + US)
        return making.document(text, *span, kind="utterance", origin="asr", speaker_id=speaker_id, passages=passages)

    with Store.open(memory) as store:
        store.ensure_space(words, holds="passage")
        with store.transaction() as tx:
            voices = [tx.add_entity(NewEntity(kind="voice", name=f"voice {word(500 + i)}", known_us=0)) for i in range(3)]
            full = tx.add_entity(NewEntity(kind="person", name=f"Zoe {word(600)}", known_us=0))
            tx.merge_entity(voices[2], full, 0)
            for i in range(12):
                tx.add_document(said(i, voices[i % 3]))
    vectors = [np.asarray(making.unit(900 + i, 64), np.float16).tobytes() for i in range(12)]

    def left():
        data = everything(memory)
        low = data.lower()
        assert check_memory(memory) == []
        spoken = [i for i in range(12) if word(300 + i).encode() in low]
        assert spoken == [i for i in range(12) if word(400 + i).encode() in low] == [i for i in range(12) if vectors[i] in data]
        return spoken, [i for i in range(3) if word(500 + i).encode() in low]

    assert left() == (list(range(12)), [0, 1, 2])
    forget(memory, Wanted(from_us=25 * US, to_us=55 * US))
    assert left() == ([0, 1, 2, 6, 7, 8, 9, 10, 11], [0, 1, 2])
    forget(memory, Wanted(entity=f"zoe {word(600)}"))
    assert left() == ([0, 1, 6, 7, 9, 10], [0, 1])
    assert word(600).encode() not in everything(memory).lower()
    for i in (0, 6, 9):
        with View.open(memory) as view:
            (hit,) = view.search_text(word(300 + i), 9, kinds=["utterance"])
        forget(memory, Wanted(evidence=(f"d{hit.document.id}",)))
    assert left() == ([1, 7, 10], [1])
    with View.open(memory) as view:
        assert {h.document.text for h in view.search_passages(words.name, making.unit(1, 64), 99)} == {
            f"{word(300 + i)} was said" for i in (1, 7, 10)
        }


def test_a_word_that_was_read_is_forgotten_as_a_name(memory):
    assert forget(memory, Wanted(entity=word(11).upper())).moments == 1
    assert traces(memory, [11]) == []
    assert traces(memory, [10]) != []


@given(data=st.data())
@settings(max_examples=4)
def test_no_trace_whatever_was_added_faded_and_forgotten_before(making, data):
    """Pages that were split, merged and moved leave no copies behind."""
    with making.store() as store:
        directory = store.directory
    with Store.open(directory) as store:
        ids = fill(store, making, 80)
        faded = data.draw(st.sets(st.integers(0, 79), max_size=40))
        with store.transaction() as tx:
            for i in faded:
                tx.drop_moment(ids[i])
        extra = fill(store, making, 30, stream="other", offset=200)
    gone = set()
    for _ in range(2):
        low, high = sorted(data.draw(st.tuples(st.integers(0, 79), st.integers(0, 79))))
        forget(directory, Wanted(from_us=low * 10 * US, to_us=high * 10 * US))
        gone |= set(range(low, high + 1)) | {200 + i for i in range(low, min(high + 1, 30))}
        assert traces(directory, gone) == []
        assert check_memory(directory) == []
    with View.open(directory) as view:
        assert {m.id for m in view.moments(stream="other")} == {extra[i] for i in range(30) if 200 + i not in gone}


def test_what_a_receipt_vouches_for_may_not_come_back(memory, making):
    receipt = forget(memory, Wanted(from_us=0, to_us=45 * US))
    with Store.open(memory) as store, store.transaction() as tx:
        again = tx.add_moment(making.moment(US))
        tx.connection.execute("UPDATE moment SET id = 2 WHERE id = ?", (again,))
    assert any("m2" in line and receipt.id in line for line in check_memory(memory))
    with Store.open(memory) as store, store.transaction() as tx:
        tx.connection.execute("UPDATE moment SET id = ? WHERE id = 2", (again,))
        tx.connection.execute("DELETE FROM tombstone WHERE kind = 'moment'")
    assert any(f"receipt {receipt.id}" in line for line in check_memory(memory))


def test_forgetting_waits_for_readers_and_says_what_is_left_to_do(memory, monkeypatch):
    reader = View.open(memory)
    reader._connection.execute("BEGIN")
    reader.moments(limit=1)
    monkeypatch.setattr("edgemem.remember.forgetting.finish.READER_PATIENCE_S", 0.2)
    with Store.open(memory) as store, store.transaction() as tx:
        tx.set_state("test", b"a newer page for the reader to hold the older one of")
    with pytest.raises(MemoryDirError, match="compact"):
        forget(memory, Wanted(from_us=0, to_us=100 * US))
    assert any("compact" in line for line in check_memory(memory))
    reader.close()
    assert finish_forgetting(memory)
    assert traces(memory, range(11)) == []
    assert check_memory(memory) == []
    assert not finish_forgetting(memory)


FORGET = """
import sys
from pathlib import Path
from edgemem.remember.forget import Wanted, forget
from edgemem.records import US
print("ready", flush=True)
forget(Path(sys.argv[1]), Wanted(from_us=100 * US, to_us=399 * US))
"""


def test_killed_in_the_middle_it_is_all_or_nothing(tmp_path, making):
    rng = np.random.default_rng(3)
    outcomes = set()
    for attempt in range(8):
        directory = tmp_path / str(attempt)
        with Store.open(directory) as store:
            fill(store, making)
        process = subprocess.Popen([sys.executable, "-c", FORGET, str(directory)], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(rng.uniform() ** 2 * 0.25)  # the commit comes early, the wiping takes longer
        os.kill(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
        with View.open(directory) as view:
            left = len(view.moments())
        outcomes.add(left)
        assert left in {60, 30}
        if not finish_forgetting(directory):  # killed before it was forgotten, or when nothing was left to do but the vector files
            Store.open(directory).close()
        assert check_memory(directory) == []
        if left == 30:
            assert traces(directory, range(10, 40)) == []
    assert outcomes
