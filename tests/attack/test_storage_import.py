"""An export is believed nothing: what is taken in is sound, what is not is refused before anything is written."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pytest
import simplejpeg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemem.errors import EdgememError, EngineError, MemoryDirError, UsageError
from edgemem.infer.roles import Space
from edgemem.records import US, Box, Observation, Quote
from edgemem.remember import import_files
from edgemem.remember.administration import backup
from edgemem.remember.check import check_memory
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewCall, NewEntity, NewMention, NewPart, NewPassage, NewRelation, NewSession, NewStep
from edgemem.remember.export import TABLES, export
from edgemem.remember.imports import import_into
from edgemem.remember.possible import IMPOSSIBLE
from edgemem.remember.restore import restore
from edgemem.remember.store import NewDocument, NewMoment, NewSegment, Store
from edgemem.remember.view import View


def noise(seed, side_px=24, quality=80):
    return simplejpeg.encode_jpeg(np.random.default_rng(seed).integers(0, 256, (side_px, side_px, 3), np.uint8), quality, "BGR")


def moment(number, jpeg, **more):
    return NewMoment(
        stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=24, height_px=24, sharpness=1.5, jpeg=jpeg,
        vectors={"looks": np.eye(8, dtype=np.float32)[number % 8]}, **more,
    )  # fmt: skip


def document(text, **more):
    given = {"kind": "event", "stream": "cam", "t0_us": 0, "t1_us": US, "offset_us": 0, "known_us": US, "origin": "system", **more}
    return NewDocument(text=text, **given)


def fill(directory, count=6):
    """A memory with at least one row in every table that is exported."""
    unit = np.eye(4, dtype=np.float32)
    with Store.open(directory) as store:
        for name, dim, holds in (("looks", 8, "moment"), ("words", 4, "passage"), ("faces", 4, "part"), ("known", 4, "entity")):
            store.ensure_space(Space(name=name, dim=dim, calibration={"floor": 0.25}), holds=holds)
        with store.transaction() as tx:
            seen = (Observation("object", "cat", 0.5, Box(0.0, 0.25, 0.5, 1.0), "red"), Observation("text", "GATE 7", 0.9))
            ids = [tx.add_moment(moment(number, noise(number), observations=seen, role="key")) for number in range(count)]
            low = tx.add_segment(NewSegment(stream="cam", segmenter="test", t0_us=0, t1_us=5 * US, offset_us=0, moment_ids=tuple(ids[:3]),
                                            representative_id=ids[1]))  # fmt: skip
            high = tx.add_segment(NewSegment(stream="cam", segmenter="test", t0_us=0, t1_us=5 * US, offset_us=0, moment_ids=tuple(ids),
                                             level=1))  # fmt: skip
            tx.set_parent([low], high)
            anna, ball = (
                tx.add_entity(NewEntity(kind=kind, name=name, known_us=0)) for kind, name in (("person", "Anna"), ("object", "ball"))
            )
            tx.set_entity_vector(anna, "known", unit[0])
            tx.add_alias(anna, "Bella", 0)
            tx.merge_entity(ball, anna, US)
            old = tx.add_document(document("a cat", segment_id=low, moment_id=ids[1]))
            new = tx.replace_document(old, document("a red cat", known_us=2 * US))
            words = NewPassage(kind="chunk", text="keys", vectors={"words": unit[1]})
            said = tx.add_document(document("the keys", kind="utterance", speaker_id=anna, confidence=0.5, passages=(words,)))
            tx.add_mention(NewMention(entity_id=anna, known_us=0, moment_id=ids[0], document_id=new))
            tx.add_part(NewPart(kind="face", score=0.5, moment_id=ids[0], box=Box(0, 0, 1, 1), vectors={"faces": unit[2]}, entity_id=anna))
            tx.add_part(NewPart(kind="voice", score=0.5, document_id=said, t0_us=0, t1_us=US // 2, entity_id=anna))
            quote = Quote(text="a red cat", origin="caption", document_id=new, moment_id=ids[1])
            tx.add_relation(NewRelation(type="HAS", source_id=anna, target_id=ball, stream="cam", t0_us=0, t1_us=US, known_us=US,
                                        quotes=(quote,)))  # fmt: skip
            tx.pin(ids[2])
            request = msgspec.msgpack.encode({"messages": [{"content": f"see d{new}", "image_ids": [f"m{ids[0]}"]}]})
            call = NewCall(step=1, task="plan", model="m", request=request, reply="ok", logprobs=b"\x93")
            step = NewStep(actor="planner", action_json='{"a": 1}', result_json=f'[{{"id":"d{new}"}}]', ms=1.0)
            tx.add_session(NewSession(question="where?", recipe="default", planner="local", asked_us=US, as_of_us=2**63 - 1,
                                      status="answered", answer="there", confidence=0.5, steps=(step,), calls=(call,),
                                      evidence=(f"m{ids[0]}",)))  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    fill(folder / "memory")
    assert check_memory(folder / "memory") == []
    export(folder / "memory", folder / "plain")
    assert all((folder / "plain" / f"{table}.jsonl").read_text() for table in TABLES)
    return folder / "plain"


def test_what_was_exported_is_taken_in_and_sound(exported, tmp_path):
    assert import_into(tmp_path / "second", exported) == 6
    assert check_memory(tmp_path / "second") == []
    export(tmp_path / "second", tmp_path / "again")
    for table in TABLES:
        assert (tmp_path / "again" / f"{table}.jsonl").read_text() == (exported / f"{table}.jsonl").read_text()


NASTY = st.one_of(
    st.sampled_from([
        None, True, -1, 0, 1, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400, 1.5, -0.0, 1e308, float("nan"),
        float("inf"), float("-inf"), "", "\0", "\ud800", "x" * 5000, "../../etc/passwd", "/etc/passwd", "pictures", "pictures/m2.jpg",
        "stub", "utterance", "AAAA", "AAAAAAAAAAAAAAAAAAAAAA==", base64.b64encode(np.full(8, np.nan, "<f2").tobytes()).decode(), [], {},
        [[]], {"looks": "AAAA"}, {"faces": "!"}, [1, 1], [10**9], "é" * 40, "2026-05-04",
    ]),
    st.integers(-10, 10), st.integers(), st.floats(), st.text(max_size=8),
)  # fmt: skip


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def put(value, path, new, *, remove=False):
    if not path:
        return new
    target = value
    for key in path[:-1]:
        target = target[key]
    if remove:
        del target[path[-1]]
    else:
        target[path[-1]] = new
    return value


@st.composite
def mutated(draw, exported, into):
    """A copy of the export in which a few things are otherwise."""
    shutil.copytree(exported, into)
    for _ in range(draw(st.integers(1, 3))):
        file = into / draw(st.sampled_from([*(f"{table}.jsonl" for table in TABLES), "memory.json"]))
        text = file.read_text(errors="replace")
        lines = [text] if file.name == "memory.json" else text.splitlines()
        if lines:
            at = draw(st.integers(0, len(lines) - 1))
            how = draw(st.sampled_from(["value", "value", "value", "remove", "twice", "drop", "bytes", "deep", "swap"]))
            file.write_bytes(change(draw, lines, at, how))
    return into


def change(draw, lines, at, how):
    """The lines of a file with one of them changed."""
    try:
        value = json.loads(lines[at])
    except (ValueError, RecursionError):
        value = {}
    path = draw(st.sampled_from(sorted(places(value), key=str)))
    if how == "value" or (how == "remove" and path):
        lines[at] = json.dumps(put(value, path, draw(NASTY), remove=how == "remove"))
    elif how == "deep":
        lines[at] = '{"a":' * 30_000 + "1" + "}" * 30_000 if draw(st.booleans()) else "[" * 100 + "]" * 100
    elif how in {"twice", "drop", "swap"}:
        other = draw(st.integers(0, len(lines) - 1))
        lines[at : at + 1] = {"twice": [lines[at]] * 2, "drop": [], "swap": [lines[other]]}[how]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    where = draw(st.integers(0, len(data)))
    return data if how != "bytes" else data[:where] + draw(st.binary(max_size=4)) + data[where + draw(st.integers(0, 4)) :]


def refusal(action, *arguments, **more):
    """What an action says that is refused; "" where it is done."""
    try:
        action(*arguments, **more)
    except EdgememError as refused:
        return str(refused)
    return ""


@settings(max_examples=int(os.environ.get("EDGEMEM_EXAMPLES", "150")), suppress_health_check=list(HealthCheck))
@given(data=st.data(), budget=st.sampled_from([None, page_budget.MINIMUM_BYTES]))
def test_whatever_is_changed_it_is_refused_whole_or_sound(exported, data, budget):
    with TemporaryDirectory() as root:
        changed = data.draw(mutated(exported, Path(root) / "plain"))
        memory = Path(root) / "memory"
        if said := refusal(import_into, memory, changed, budget_bytes=budget):
            assert "\n" not in said
            assert len(said) < 700
            assert not memory.exists()
            return
        assert check_memory(memory) == []
        export(memory, Path(root) / "again")  # and can be written out and taken in again
        import_into(Path(root) / "third", Path(root) / "again")
        assert check_memory(Path(root) / "third") == []


def test_a_refused_import_changes_no_memory_that_is_there(exported, tmp_path):
    fill(tmp_path / "memory")
    before = (tmp_path / "memory" / "memory.db").read_bytes()
    shutil.copytree(exported, tmp_path / "plain")
    (tmp_path / "plain" / "sessions.jsonl").write_text("{}\n")  # the last file of all
    with pytest.raises(UsageError, match=r"sessions\.jsonl, line 1"):
        import_into(tmp_path / "memory", tmp_path / "plain")
    assert (tmp_path / "memory" / "memory.db").read_bytes() == before


def test_spaces_that_do_not_fit_are_refused_before_one_is_made(exported, tmp_path):
    shutil.copytree(exported, tmp_path / "plain")
    about = json.loads((tmp_path / "plain" / "memory.json").read_text())
    about["spaces"].insert(0, {"name": "new", "dim": 3})
    (tmp_path / "plain" / "memory.json").write_text(json.dumps(about))
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(Space(name="known", dim=5), holds="entity")
    with pytest.raises(EngineError, match="known"):
        import_into(tmp_path / "memory", tmp_path / "plain")
    with Store.open(tmp_path / "memory") as store:
        assert set(store._spaces) == {"known"}


@pytest.mark.parametrize("name", ["memory.json", "moments.jsonl", "pictures/m1.jpg"])
@pytest.mark.parametrize("kind", ["fifo", "directory", "zero", "missing"])
def test_pipes_devices_and_directories_are_refused_and_not_waited_for(exported, tmp_path, name, kind):
    plain = tmp_path / "plain"
    shutil.copytree(exported, plain)
    (plain / name).unlink()
    if kind == "fifo":
        os.mkfifo(plain / name)
    elif kind == "directory":
        (plain / name).mkdir()
    elif kind == "zero":
        (plain / name).symlink_to("/dev/zero")
    with pytest.raises(UsageError) as refused:
        import_into(tmp_path / "memory", plain)
    wanted = {
        "fifo": "named pipe",
        "directory": "a directory",
        "zero": "outside" if "pictures" in name else "a device",
        "missing": "No such",
    }
    assert wanted[kind] in str(refused.value)
    assert not (tmp_path / "memory").exists()


def test_what_is_too_large_is_known_before_it_is_read(exported, tmp_path, monkeypatch):
    plain = tmp_path / "plain"
    shutil.copytree(exported, plain)
    limits = {"memory.json": "MOST_ABOUT_BYTES", "moments.jsonl": "MOST_LINE_BYTES", "pictures/m1.jpg": "MOST_PICTURE_BYTES"}
    for name, limit in limits.items():
        with monkeypatch.context() as patch:
            patch.setattr(import_files, limit, (plain / name).stat().st_size // 20)
            said = refusal(import_into, tmp_path / "memory", plain)
        assert "more than" in said or "longer than" in said
        assert not (tmp_path / "memory").exists()
    with (plain / "streams.jsonl").open("wb") as file:
        file.truncate(200 << 30)  # an endless line of zeros
    with pytest.raises(UsageError, match=r"streams\.jsonl, line 1: it is longer than 32 MiB"):
        import_into(tmp_path / "memory", plain)


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n" + bytes(50), b"not a picture"])
def test_a_picture_that_is_no_jpeg_is_refused(exported, tmp_path, data):
    shutil.copytree(exported, tmp_path / "plain")
    (tmp_path / "plain" / "pictures" / "m3.jpg").write_bytes(data)
    with pytest.raises(UsageError, match=r"moments\.jsonl, line 3: pictures/m3\.jpg is no JPEG"):
        import_into(tmp_path / "memory", tmp_path / "plain")


def test_pictures_too_large_for_a_small_cap_go_in_smaller(tmp_path):
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(Space(name="looks", dim=8))
        for number in range(3):
            with store.transaction() as tx:
                tx.add_moment(moment(number, noise(number, 2600, 95)))
    export(tmp_path / "memory", tmp_path / "plain")
    sizes = [path.stat().st_size for path in (tmp_path / "plain" / "pictures").iterdir()]
    assert min(sizes) > 6 << 20
    assert import_into(tmp_path / "small", tmp_path / "plain", budget_bytes=page_budget.MINIMUM_BYTES) == 3
    with View.open(tmp_path / "small") as view:
        shown = [(one.width_px, one.height_px, simplejpeg.decode_jpeg_header(view.picture(one.id))[:2]) for one in view.moments()]
    assert len(shown) == 3
    assert all(0 < width <= 1920 and (height, width) == header for width, height, header in shown)
    assert check_memory(tmp_path / "small") == []
    assert import_into(tmp_path / "large", tmp_path / "plain") == 3
    with View.open(tmp_path / "large") as view:
        assert all(len(view.picture(one.id)) > 6 << 20 for one in view.moments())


def test_an_export_larger_than_the_cap_fades_while_it_goes_in_and_stays_sound(tmp_path, monkeypatch):
    monkeypatch.setattr(page_budget, "MINIMUM_BYTES", 8 << 20)
    fill(tmp_path / "memory")
    with Store.open(tmp_path / "memory") as store:
        for number in range(10, 90):
            with store.transaction() as tx:
                ids = [tx.add_moment(moment(number * 10 + i, noise(number * 10 + i, 220, 90))) for i in range(5)]
                tx.add_segment(NewSegment(stream="cam", segmenter="test", t0_us=number * 10 * US, t1_us=number * 11 * US, offset_us=0,
                                          moment_ids=tuple(ids), representative_id=ids[2]))  # fmt: skip
                tx.add_document(document(f"number {number}", moment_id=ids[0], t0_us=number * 10 * US, t1_us=number * 10 * US))
    export(tmp_path / "memory", tmp_path / "plain")
    import_into(tmp_path / "small", tmp_path / "plain", budget_bytes=8 << 20)
    assert check_memory(tmp_path / "small") == []
    with View.open(tmp_path / "small") as view:
        assert 0 < view.stats().moments < 406
        assert view.stats().disk_bytes <= 8 << 20


SPOILS = {
    "streams that begin at a time that no clock has": "UPDATE stream SET t0_us = 1 << 62",
    "moments at a time that no clock has": "UPDATE moment SET t_us = -1 << 60 WHERE id = 1",
    "moments whose picture has no possible size": "UPDATE moment SET width_px = -5 WHERE id = 1",
    "moments whose number or sharpness is none": "UPDATE moment SET sharpness = 9e999 WHERE id = 1",
    "pictures that were made smaller less than never": "UPDATE blob SET generation = -1 WHERE id = 1",
    "segments that end before they begin": "UPDATE segment SET t1_us = t0_us - 1 WHERE level = 1",
    "segments at a time that no clock has": "UPDATE segment SET offset_us = 1 << 62 WHERE level = 1",
    "segments of a level below 0": "UPDATE segment SET level = -1 WHERE level = 0",
    "documents that end before they begin": "UPDATE document SET t1_us = t0_us - 1 WHERE id = 2",
    "documents at a time that no clock has": "UPDATE document SET known_us = 1 << 61 WHERE id = 2",
    "utterances whose confidence is no share": "UPDATE utterance SET confidence = 2.0",
    "entities known at a time that no clock has": "UPDATE entity SET known_us = -1 << 61 WHERE id = 1",
    "aliases of a time that no clock has": "UPDATE alias SET until_us = 1 << 61",
    "merges at a time that no clock has": "UPDATE entity_merge SET known_us = 1 << 61",
    "mentions with no possible score or time": "UPDATE mention SET score = 9e999",
    "relations that end before they begin": "UPDATE relation SET t1_us = t0_us - 1",
    "relations at a time that no clock has": "UPDATE relation SET known_us = 1 << 61",
    "relations whose confidence is no share": "UPDATE relation SET confidence = 1.01",
    "parts with no possible score": "UPDATE part SET score = 9e999 WHERE box IS NOT NULL",
    "parts whose box ends before it begins": "UPDATE part SET box = x'0100000000ff0001' WHERE box IS NOT NULL",
    "spaces of vectors with a damaged calibration": "UPDATE vec_space SET calibration = '{' WHERE name = 'words'",
    "spaces of vectors with no possible dimension": "UPDATE vec_space SET dim = 1 << 30 WHERE name = 'words'",
    "sessions whose numbers are none": "UPDATE session SET usd = 9e999",
    "sessions with damaged notes": "UPDATE session SET notes = '['",
    "steps of sessions that cannot be read": "UPDATE step SET result = 'no JSON'",
}


@pytest.mark.parametrize("what", [what for what, _ in IMPOSSIBLE])
def test_check_finds_what_cannot_be(tmp_path, what):
    fill(tmp_path / "memory")
    with Store.open(tmp_path / "memory") as store, store.transaction() as tx:
        tx.connection.execute(SPOILS[what])
    assert f"1 {what}" in check_memory(tmp_path / "memory")


PACKED = {
    "1 moments whose observations cannot be read": ("UPDATE observation SET data = ? WHERE moment_id = 1", b"\xc1"),
    "2 moments whose observations cannot be read": (
        "UPDATE observation SET data = ? WHERE moment_id < 3", msgspec.msgpack.encode([(999, 1, 0, None)])
    ),
    "3 moments whose observations cannot be read": (
        "UPDATE observation SET data = ? WHERE moment_id < 4", msgspec.msgpack.encode([(1, 1, 999, None)])
    ),
    "1 moments with boxes that end before they begin": (
        "UPDATE observation SET data = ? WHERE moment_id = 1", msgspec.msgpack.encode([(1, 1, 0, (2, 0, 1, 9))])
    ),
    "2 moments with boxes that end before they begin": (
        "UPDATE observation SET data = ? WHERE moment_id < 3", msgspec.msgpack.encode([(1, 1, 1, (0, 9, 1, 8))])
    ),
    "3 moments with boxes that end before they begin": (
        "UPDATE observation SET data = ? WHERE moment_id < 4", msgspec.msgpack.encode([(1, 1, 1, (0, 0, 65536, 8))])
    ),
    "1 calls of sessions that cannot be read": ("UPDATE call SET request = ?", b"\xc1"),
    'the saved state "ledger/2" cannot be read': ("INSERT OR REPLACE INTO state VALUES ('ledger/2', ?)", b"\xc1"),
    'the saved state "budget" cannot be read': ("INSERT OR REPLACE INTO state VALUES ('budget', ?)", b"\xc1"),
    "the note of dates that are to be corrected cannot be read": ("REPLACE INTO meta VALUES ('redate_due', CAST(? AS TEXT))", b"{"),
}  # fmt: skip


@pytest.mark.parametrize("what", PACKED)
def test_check_reads_what_is_packed(tmp_path, what):
    fill(tmp_path / "memory")
    assert check_memory(tmp_path / "memory") == []
    with closing(sqlite3.connect(tmp_path / "memory" / "memory.db")) as connection, connection:
        query, data = PACKED[what]
        connection.execute(query, (data,))
    assert check_memory(tmp_path / "memory") == [what]


@pytest.mark.parametrize("sides", [(0.5, 0, 0.4, 1), (0, 0.5, 1, 0.4), (-0.1, 0, 1, 1), (0, -0.1, 1, 1), (0, 0, 1.1, 1), (0, 0, 1, 1.1)])
@pytest.mark.parametrize("lines", ["moments", "parts"])
def test_an_import_with_a_box_outside_the_picture_is_refused(exported, tmp_path, lines, sides):
    shutil.copytree(exported, tmp_path / "plain")
    rows = [json.loads(line) for line in (tmp_path / "plain" / f"{lines}.jsonl").read_text().splitlines()]

    def write(box):
        holder = next(one for row in rows for one in (row["observations"] if lines == "moments" else [row]) if one["box"])
        holder["box"] = box
        (tmp_path / "plain" / f"{lines}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    write(sides)
    with pytest.raises(UsageError, match=rf"{lines}\.jsonl, line \d: its box does not lie in the picture, or ends before it begins"):
        import_into(tmp_path / "memory", tmp_path / "plain")
    write((0, 0, 0, 1))
    assert import_into(tmp_path / "memory", tmp_path / "plain") > 0


@pytest.mark.parametrize("component", [float("nan"), float("inf"), float("-inf")])
def test_check_finds_vectors_that_are_none(tmp_path, component):
    fill(tmp_path / "memory")
    with Store.open(tmp_path / "memory") as store, store.transaction() as tx:
        data = np.full(8, component, np.float16).tobytes()
        tx.connection.execute("UPDATE vec SET data = ? WHERE id = 257", (data,))
        tx.connection.execute("UPDATE vec SET data = x'00' WHERE id = 513")
    assert '2 vectors of "looks" are no vectors of that space' in check_memory(tmp_path / "memory")


@settings(max_examples=int(os.environ.get("EDGEMEM_EXAMPLES", "60")), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_backup_is_refused_whole_or_sound(tmp_path_factory, data):
    good = tmp_path_factory.getbasetemp() / "good.db"
    if not good.exists():
        fill(good.parent / "of_good")
        backup(good.parent / "of_good", good)
    content = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        piece = data.draw(st.binary(min_size=1, max_size=64))
        content[at : at + len(piece)] = piece
    with TemporaryDirectory() as root:
        (Path(root) / "bad.db").write_bytes(bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, 100]))]))
        if said := refusal(restore, Path(root) / "bad.db", Path(root) / "memory"):
            assert "\n" not in said
            assert not (Path(root) / "memory").exists()
        else:
            assert check_memory(Path(root) / "memory") == []


@pytest.mark.parametrize("version", [b"\x80\0\0\x04", b"\0\0\0\x01", b"\0\0\0\0"])
def test_a_memory_with_a_damaged_version_is_damaged(tmp_path, version):
    """The header of an SQLite file has PRAGMA user_version at byte 60."""
    fill(tmp_path / "memory")
    backup(tmp_path / "memory", tmp_path / "good.db")
    content = (tmp_path / "good.db").read_bytes()
    (tmp_path / "bad.db").write_bytes(content[:60] + version + content[64:])
    assert re.search("is damaged|is not a backup", refusal(restore, tmp_path / "bad.db", tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    (tmp_path / "memory" / "memory.db").write_bytes(content[:60] + version + content[64:])
    with pytest.raises(MemoryDirError, match="is damaged"):
        Store.open(tmp_path / "memory")


def test_a_backup_whose_tables_are_defined_in_no_text_is_damaged(tmp_path):
    fill(tmp_path / "memory")
    backup(tmp_path / "memory", tmp_path / "good.db")
    content = (tmp_path / "good.db").read_bytes()
    (tmp_path / "bad.db").write_bytes(content.replace(b"CREATE TABLE", b"CREATE T\x80BLE", 1))
    assert refusal(restore, tmp_path / "bad.db", tmp_path / "new").startswith(f"memory {tmp_path / 'bad.db'}: is damaged")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("kind", ["fifo", "device", "directory"])
def test_a_backup_that_is_no_file_is_refused_and_not_waited_for(tmp_path, kind):
    file = {"fifo": tmp_path / "pipe", "device": Path("/dev/zero"), "directory": tmp_path}[kind]
    if kind == "fifo":
        os.mkfifo(file)
    with pytest.raises(MemoryDirError, match="it is a"):
        restore(file, tmp_path / "memory")
    assert not (tmp_path / "memory").exists()


def test_a_restore_that_was_killed_is_begun_anew(tmp_path):
    fill(tmp_path / "memory")
    backup(tmp_path / "memory", tmp_path / "copy.db")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "memory.db-part").write_bytes(b"half of it")
    restore(tmp_path / "copy.db", tmp_path / "second")
    assert check_memory(tmp_path / "second") == []
