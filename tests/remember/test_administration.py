"""A copy is the memory as of one instant; an export is complete; compacting loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import numpy as np
import pytest
import simplejpeg

from edgemem.errors import MemoryDirError, UsageError
from edgemem.infer.roles import Space
from edgemem.records import US, Box, Observation, Quote
from edgemem.remember.administration import backup, compact
from edgemem.remember.check import check_memory
from edgemem.remember.disk.directory import disk_bytes
from edgemem.remember.entries import NewCall, NewEntity, NewMention, NewPart, NewPassage, NewRelation, NewSession, NewStep
from edgemem.remember.export import export
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.imports import import_into
from edgemem.remember.restore import restore
from edgemem.remember.store import Store
from edgemem.remember.view import View

WRITER = """
import sys
from pathlib import Path
import numpy as np
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.store import NewMoment, Store

with Store.open(Path(sys.argv[1])) as store:
    store.ensure_space(Space(name="test/16", dim=16))
    rng, number = np.random.default_rng(0), 10_000
    while True:
        with store.transaction() as tx:
            for _ in range(2):
                vector = rng.normal(size=16).astype(np.float32)
                tx.add_moment(NewMoment(stream="live", seq=number, t_us=number * US, offset_us=number * US, width_px=1, height_px=1,
                    sharpness=1, jpeg=rng.bytes(20_000), vectors={"test/16": vector / np.linalg.norm(vector)}))
                number += 1
        print(number, flush=True)
        store.maintain()
"""


def noise(rng, height=180, width=240):
    """A JPEG; of this size about 30 kB."""
    return simplejpeg.encode_jpeg(rng.integers(0, 256, (height, width, 3), np.uint8), 60, "BGR")


@pytest.fixture
def memory(directory, making):
    """Two streams with some data of every kind."""
    rng = np.random.default_rng(1)
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        store.ensure_space(Space(name="words/8", dim=8), holds="passage")
        store.ensure_space(Space(name="looks/8", dim=8), holds="part")
        store.ensure_space(Space(name="known/8", dim=8), holds="entity")
        for stream in ("cam", "door"):
            with store.transaction() as tx:
                box = Box(0.1, 0.25, 0.5, 1.0)
                ids = []
                for i in range(12):
                    seen = (making.label("cat", 0.5 + i / 30, box, "red", kind="object"), Observation("text", f"GATE {i}", 0.9))
                    ids.append(tx.add_moment(making.moment(i * US, stream=stream, seen=seen, jpeg=noise(rng), role="endpoint")))
                first = tx.add_segment(making.segment(ids[:6], 0, 5 * US, ids[2], stream=stream))
                over = msgspec.structs.replace(making.segment(ids, 0, 11 * US, ids[2], stream=stream), level=1)
                tx.set_parent([first], tx.add_segment(over))
                tx.set_role(ids[5], "key", 7 * US)
                tx.add_segment(making.segment(ids[6:], 6 * US, 11 * US, ids[8], stream=stream))
                old = tx.add_document(making.document("a cat", segment_id=first, moment_id=ids[2], stream=stream, known_us=5 * US))
                new = making.document("a red cat", segment_id=first, moment_id=ids[2], stream=stream, known_us=9 * US)
                said = tx.replace_document(old, new)
                tx.add_document(
                    making.document("EXIT C", 3 * US, 3 * US, 3 * US, kind="text", origin="ocr", moment_id=ids[3], stream=stream)
                )
                tx.pin(ids[4])
                tx.recode_moment(ids[0], noise(rng, 36, 64), "mid", width_px=64, height_px=36, generation=1)
                anna = tx.add_entity(NewEntity(kind="person", name="Anna", known_us=0))
                event = tx.add_entity(NewEntity(kind="event", name=f"visit at {stream}", known_us=5 * US, segment_id=first))
                tx.retract_alias(tx.add_alias(anna, "Bella", 0), 4 * US)
                tx.add_mention(NewMention(entity_id=anna, known_us=0, moment_id=ids[1], document_id=said))
                quotes = (Quote(text="a red cat", origin="caption", document_id=said, moment_id=ids[2]),)
                edge = {
                    "type": "CAUSES",
                    "source_id": anna,
                    "target_id": event,
                    "stream": stream,
                    "t0_us": 0,
                    "t1_us": US,
                    "quotes": quotes,
                }
                words = NewPassage(kind="chunk", text="keys", vectors={"words/8": making.unit(len(stream), 8)})
                voice = tx.add_entity(NewEntity(kind="voice", name=f"speaker at {stream}", known_us=US))
                heard = making.document(
                    "the keys are here", 2 * US, 3 * US, 4 * US, kind="utterance", origin="asr", stream=stream, speaker_id=voice,
                    confidence=0.5, passages=(words, msgspec.structs.replace(words, kind="field", text=f"place: {stream}")),
                )  # fmt: skip
                keys = tx.add_document(heard)
                looks = {"looks/8": making.unit(len(stream), 8)}
                face = NewPart(kind="face", score=0.5, moment_id=ids[3], box=Box(0.25, 0.0, 0.5, 1.0), vectors=looks, entity_id=anna)
                tx.add_part(face)
                tx.add_part(NewPart(kind="voice", score=0.25, document_id=keys, t0_us=2 * US, t1_us=2 * US + 5, entity_id=voice))
                tx.set_entity_vector(voice, "known/8", making.unit(len(stream) + 1, 8))
                tx.unmerge(tx.merge_entity(voice, anna, 5 * US), 7 * US)
                tx.merge_entity(voice, anna, 9 * US)
                edge_id = tx.add_relation(NewRelation(known_us=5 * US, **edge))
                tx.replace_relation(edge_id, NewRelation(known_us=8 * US, confidence=0.5, **edge))
                step = NewStep(actor="planner", action_json="{}", result_json=f'[{{"id":"d{keys}"}}]', ms=1.0)
                faded = tx.add_moment(making.moment(15 * US, stream=stream, jpeg=rng.bytes(100)))
                request = msgspec.msgpack.encode({"messages": [{"content": f'see "d{keys}"', "image_ids": [f"m{ids[2]}"]}]})
                call = NewCall(step=1, task="t", model="m", request=request, reply="r", finish="stop", usd=0.5, logprobs=b"\x90")
                asked = NewSession(
                    question="where are the keys?", recipe="r", planner="p", asked_us=20 * US, as_of_us=20 * US, status="answered",
                    answer="here", confidence=0.5, notes=("a note",), steps=(step,), calls=(call,), evidence=(f"m{ids[2]}", f"m{faded}"),
                )  # fmt: skip
                tx.add_session(asked)
                tx.drop_moment(faded)
    return directory


def test_calls_of_an_export_of_version_2_are_taken_in(memory, tmp_path):
    export(memory, tmp_path / "plain")
    file = tmp_path / "plain" / "sessions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    call = {"task": "planner", "model": "m", "step": 2, "prompt": "where?", "reply": "r", "pictures": 1, "tokens_in": 3}
    old = [call, {"action": "unreadable"}]
    file.write_text("".join(json.dumps({**row, "calls": [json.dumps(call) for call in old]}) + "\n" for row in rows))
    import_into(tmp_path / "second", tmp_path / "plain")
    with View.open(tmp_path / "second") as view:
        first, second = view.session(1).calls
    assert (first.task, first.step, first.reply, first.tokens_in, msgspec.msgpack.decode(first.request)) == (
        "planner", 2, "r", 3, {"prompt": "where?"},
    )  # fmt: skip
    assert second.task == ""
    file.write_text("".join(json.dumps({**row, "calls": [{"task": "planner"}]}) + "\n" for row in rows))
    with pytest.raises(UsageError, match=r"sessions\.jsonl, line 1: a call cannot be read"):
        import_into(tmp_path / "third", tmp_path / "plain")


def making_unit():
    return np.eye(8, dtype=np.float32)[0]


def answered(view, session_id, pictures):
    """A session with texts and pictures instead of ids."""
    log = view.session(session_id)
    keys = [(key[0], int(key[1:])) for key in log.evidence]
    came_up = {pictures.get(number) if kind == "m" else view.document(number).text for kind, number in keys}
    quoted = [view.document(int(json.loads(step.result_json)[0]["id"][1:])).text for step in log.steps]
    fields = ("question", "recipe", "planner", "asked_us", "as_of_us", "status", "answer", "option", "confidence", "notes")
    (call,) = log.calls
    (message,) = msgspec.msgpack.decode(call.request)["messages"]
    shown = pictures.get(int(message["image_ids"][0][1:])), view.document(int(message["content"][6:-1])).text
    plain = msgspec.structs.replace(call, request=b"")
    return [getattr(log, name) for name in fields], came_up, quoted, shown, plain


def told(directory, as_of_us=None):
    """Everything that a view returns, with pictures instead of ids."""
    with View.open(directory, as_of_us) as view:
        moments = view.moments()
        pictures = {m.id: view.picture(m.id) for m in moments}
        cosines = view.vector_search("test/16", np.eye(16, dtype=np.float32)[0], 99)

        def entity(e):
            return e and (e.kind, e.name, e.aliases, e.segment_id is None)

        return [
            [(m.stream, m.seq, m.t_us, m.offset_us, m.width_px, m.sharpness, m.tier, m.role, m.pinned, pictures[m.id]) for m in moments],
            [view.observations([m.id])[m.id] for m in moments],
            [(pictures[i], cosine) for i, cosine in cosines],
            [(s.stream, s.segmenter, s.t0_us, s.t1_us, s.offset_us, pictures.get(s.representative_id)) for s in view.segments()],
            [(s.level, s.parent_id and view.segment(s.parent_id).t1_us) for s in view.segments()],
            [(p.kind, p.stream, p.t0_us, p.t1_us, p.score, p.box, entity(p.entity), pictures.get(p.moment_id)) for p in view.parts()],
            [(h.part.stream, h.score) for h in view.nearest_parts("looks/8", making_unit(), 9)],
            [(entity(h.entity), h.score) for h in view.nearest_entities("known/8", making_unit(), 9)],
            [[pictures[m.id] for m in view.segment_moments(s.id)] for s in view.segments()],
            [(d.kind, d.text, d.stream, d.t0_us, d.t1_us, d.known_us, d.origin, pictures.get(d.moment_id)) for d in view.documents()],
            [hit.document.text for hit in view.search_text("exitc", 9)],
            [entity(e) for e in view.entities()],
            [(r.type, entity(r.source), entity(r.target), r.stream, r.t0_us, r.t1_us, r.confidence, r.known_us) for r in view.relations()],
            [[(q.text, q.origin, pictures.get(q.moment_id), q.document_id is None) for q in r.quotes] for r in view.relations()],
            sorted((p.name, p.kind, p.score, p.colour, p.t_us) for p in view.postings(["cat", "GATE 3"])),
            view.names("text"),
            [(s.name, s.t0_us, s.t1_us, s.moments) for s in view.streams()],
            [(s.document.text, entity(s.speaker), s.confidence) for s in view.utterances()],
            [(h.document.stream, h.passage_kind, h.text, h.score) for h in view.search_passages("words/8", making_unit(), 9)],
            [[(r.source.name, r.target.name) for r in view.ladder("speaker at door").relations]],
            [answered(view, head.id, pictures) for head in view.sessions()],
        ]


def test_an_export_taken_in_again_answers_the_same_at_every_time(memory, tmp_path):
    assert export(memory, tmp_path / "plain") == 24
    with Store.open(tmp_path / "second") as store, store.transaction() as tx:
        tx.add_entity(NewEntity(kind="person", name="somebody before, so that ids differ", known_us=10**15))
    assert import_into(tmp_path / "second", tmp_path / "plain") == 24
    assert check_memory(tmp_path / "second") == []
    for as_of_us in (0, 3 * US, 5 * US, 6 * US, 8 * US, 20 * US):
        assert told(tmp_path / "second", as_of_us) == told(memory, as_of_us)
    forget(tmp_path / "second", Wanted(from_us=15 * US, to_us=15 * US))  # of a time whose pictures had faded before the export
    with View.open(tmp_path / "second") as view:
        assert view.sessions() == []


def test_an_export_of_before_there_were_passages_and_sessions_is_taken_in(memory, tmp_path):
    export(memory, tmp_path / "plain")
    for name in ("merges", "sessions", "parts", "parents"):
        (tmp_path / "plain" / f"{name}.jsonl").unlink()
    about = tmp_path / "plain" / "memory.json"
    about.write_text(about.read_text().replace('"version": 3', '"version": 1').replace('"holds": "moment"', '"other": 1'))
    assert import_into(tmp_path / "second", tmp_path / "plain") == 24
    about.write_text(about.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(UsageError, match=r"merges\.jsonl"):
        import_into(tmp_path / "third", tmp_path / "plain")


@pytest.mark.parametrize("batches", [1, 5, 9, 14])
def test_an_import_that_was_interrupted_goes_on_where_it_stopped(memory, tmp_path, monkeypatch, batches):
    export(memory, tmp_path / "plain")
    monkeypatch.setattr("edgemem.remember.imports._BATCH", 5)
    written = iter(range(1000))

    def interrupted(_done, _total):
        if next(written) == batches:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_into(tmp_path / "second", tmp_path / "plain", progress=interrupted)
    steps = []
    assert import_into(tmp_path / "second", tmp_path / "plain", progress=lambda done, _: steps.append(done)) == 24
    assert steps[0] > 5
    assert check_memory(tmp_path / "second") == []
    assert told(tmp_path / "second", 20 * US) == told(memory, 20 * US)
    with Store.open(tmp_path / "second") as store, store.transaction() as tx:
        assert tx.connection.execute("SELECT count(*) FROM state WHERE key GLOB 'import/*/*'").fetchone() == (0,)


def test_large_pictures_go_in_under_a_budget_that_has_room_for_them(directory, making, tmp_path):
    rng = np.random.default_rng(2)
    pictures = [noise(rng, 600, 800) for _ in range(40)]
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        with store.transaction() as tx:
            for number in range(40):
                tx.add_moment(making.moment(number * US, jpeg=pictures[number]))
    export(directory, tmp_path / "plain")
    assert import_into(tmp_path / "second", tmp_path / "plain", budget_bytes=4 << 30) == 40
    with View.open(tmp_path / "second") as view:
        assert [view.picture(moment.id) for moment in view.moments()] == pictures


def test_an_export_is_plain_files(memory, tmp_path):
    export(memory, tmp_path / "plain")
    moments = [json.loads(line) for line in (tmp_path / "plain" / "moments.jsonl").read_text().splitlines()]
    with View.open(memory) as view:
        assert (tmp_path / "plain" / moments[5]["picture"]).read_bytes() == view.picture(moments[5]["id"])
    assert {len(m["observations"]) for m in moments} == {2}
    assert {d["until_us"] for d in map(json.loads, (tmp_path / "plain" / "documents.jsonl").read_text().splitlines())} == {None, 9 * US}
    with pytest.raises(UsageError, match="not empty"):
        export(memory, tmp_path / "plain")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("moments.jsonl", "{}\n", "moments.jsonl, line 1"),
        ("documents.jsonl", "not JSON\n", "documents.jsonl, line 1"),
        ("memory.json", '{"format": "other", "version": 1, "spaces": []}', "another program"),
        ("entities.jsonl", "", "entities.jsonl"),
    ],
)
def test_a_bad_export_is_named_before_a_row_is_written(memory, tmp_path, file, text, says):
    export(memory, tmp_path / "plain")
    (tmp_path / "plain" / file).write_text(text)
    with pytest.raises(UsageError, match=says):
        import_into(tmp_path / "second", tmp_path / "plain")


def test_a_picture_outside_of_the_export_is_not_read(memory, tmp_path):
    (tmp_path / "secret").write_bytes(b"key")
    export(memory, tmp_path / "plain")
    path = tmp_path / "plain" / "moments.jsonl"
    path.write_text(path.read_text().replace("pictures/m1.jpg", "../secret"))
    with pytest.raises(UsageError, match="outside"):
        import_into(tmp_path / "second", tmp_path / "plain")


def test_a_backup_while_a_writer_writes_is_of_one_instant(memory, tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(memory)], stdout=subprocess.PIPE, text=True)
    try:
        writer.stdout.readline()
        steps = []
        backup(memory, tmp_path / "copy.db", lambda done, total: steps.append((done, total)))
        assert int(writer.stdout.readline()) > 10_000  # it went on
    finally:
        writer.kill()
        writer.stdout.close()
        writer.wait()
    assert steps[-1][0] == steps[-1][1]
    restore(tmp_path / "copy.db", tmp_path / "second")
    assert check_memory(tmp_path / "second") == []
    with View.open(tmp_path / "second") as view:
        live = view.moments(stream="live")
        assert len(live) % 2 == 0
        assert len(live) >= 2
        assert [moment.seq for moment in live] == list(range(10_000, 10_000 + len(live)))  # a prefix of what was written, without a hole
        assert len(view.vector_search("test/16", np.eye(16, dtype=np.float32)[0], 9999)) == 24 + len(live)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "memory", "second"]


def test_a_backup_harms_nothing_that_is_there(memory, tmp_path):
    (tmp_path / "thesis.db").write_bytes(b"years of work")
    with pytest.raises(UsageError, match="exists"):
        backup(memory, tmp_path / "thesis.db")
    with pytest.raises(UsageError, match="not empty"):
        restore(tmp_path / "thesis.db", memory)
    with pytest.raises(MemoryDirError):
        restore(tmp_path / "thesis.db", tmp_path / "third")
    with pytest.raises(MemoryDirError):
        backup(tmp_path / "nowhere", tmp_path / "copy.db")


def test_compacting_gives_back_what_was_dropped_and_loses_nothing(memory):
    with Store.open(memory) as store, store.transaction() as tx:
        for moment_id in (*range(2, 8), 15):
            tx.drop_moment(moment_id)
    with View.open(memory) as view:
        left = {m.id: view.picture(m.id) for m in view.moments()}
    before, after = compact(memory)
    assert after < before - 5 * 30_000
    assert after == disk_bytes(memory)
    with View.open(memory) as view:
        assert {m.id: view.picture(m.id) for m in view.moments()} == left
        assert view.search_text("red cat", 5)
    assert check_memory(memory) == []
    with Store.open(memory) as store, store.transaction() as tx:
        left_over = tx.connection.execute("SELECT name FROM term WHERE kind = 'text' ORDER BY name").fetchall()
    assert ("GATE 1",) not in left_over
    assert ("GATE 2",) in left_over


def test_what_holds_a_nul_can_be_exported_and_imported(tmp_path, making):
    with Store.open(tmp_path / "first") as store, store.transaction() as tx:
        tx.add_document(making.document("a cup\0 on the table", t0_us=0, t1_us=9, known_us=9))
    export(tmp_path / "first", tmp_path / "plain")
    import_into(tmp_path / "second", tmp_path / "plain")
    with View.open(tmp_path / "second") as view:
        assert [one.text for one in view.documents()] == ["a cup\ufffd on the table"]
