"""Writes a small memory with the edgemem that is importable: how the golden databases beside this file were made, one per schema version.

python tests/remember/golden/make.py v3.db.gz

Each was made by the version of edgemem with its schema; this file is the one for the newest schema.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np

from edgemem.infer.roles import Space
from edgemem.records import US, Observation, Quote
from edgemem.remember.entries import NewEntity, NewMention, NewPassage, NewRelation, NewSession, NewStep
from edgemem.remember.store import NewDocument, NewMoment, NewSegment, Store


def fill(store: Store) -> None:
    """Six moments of two streams in two segments, with documents of two versions, a pinned picture, people, what they did, and a state."""
    store.ensure_space(Space(name="golden/8", dim=8, calibration={"floor": 0.2}))
    for stream in ("door", "hall"):
        with store.transaction() as tx:
            ids = []
            for i in range(3):
                ok, jpeg = cv2.imencode(".jpg", np.full((16, 24, 3), 40 * i + len(stream), np.uint8))
                assert ok
                observations = (Observation("label", "cat", 0.5 + i / 10), Observation("text", f"GATE {i}", 0.9))
                moment = NewMoment(
                    stream=stream, seq=i, t_us=i * 10 * US, offset_us=i * 10 * US, boot_id="boot", width_px=24, height_px=16,
                    sharpness=1.0, jpeg=jpeg.tobytes(), vectors={"golden/8": np.eye(8, dtype=np.float32)[i]}, observations=observations,
                )  # fmt: skip
                ids.append(tx.add_moment(moment))
            segment = NewSegment(
                stream=stream, segmenter="golden", t0_us=0, t1_us=20 * US, offset_us=0, moment_ids=tuple(ids), representative_id=ids[1]
            )
            segment_id = tx.add_segment(segment)
            span = {"kind": "event", "stream": stream, "t0_us": 0, "t1_us": 20 * US, "offset_us": 0, "origin": "caption"}
            document = NewDocument(text=f"a cat near the {stream}", known_us=20 * US, segment_id=segment_id, moment_id=ids[1], **span)
            first = tx.add_document(document)
            document = NewDocument(text=f"a grey cat near the {stream}", known_us=30 * US, segment_id=segment_id, moment_id=ids[1], **span)
            second = tx.replace_document(first, document)
            anna, cat = (tx.add_entity(NewEntity(kind=k, name=n, known_us=20 * US)) for k, n in (("person", "Anna"), ("object", "cat")))
            tx.retract_alias(tx.add_alias(anna, "Bella", 20 * US), 25 * US)
            tx.add_mention(NewMention(entity_id=anna, known_us=30 * US, document_id=second, moment_id=ids[2]))
            edge = {"type": "USES", "source_id": anna, "target_id": cat, "stream": stream, "t0_us": 0, "t1_us": 20 * US}
            quotes = (Quote(text="a cat", origin="caption", document_id=second, moment_id=ids[1]),)
            old = tx.add_relation(NewRelation(known_us=20 * US, **edge))
            tx.replace_relation(old, NewRelation(known_us=30 * US, quotes=quotes, **edge))
            tx.pin(ids[0])
            tx.set_state(f"test/{stream}", b"as it was")
    fill_3(store)


def fill_3(store: Store) -> None:
    """Data of schema 3: speech with passages, two merged names, and answers with calls of a language model."""
    store.ensure_space(Space(name="golden/words", dim=8, calibration={}), holds="passage")
    with store.transaction() as tx:
        speaker = tx.add_entity(NewEntity(kind="voice", name="speaker 1", known_us=12 * US))
        text, vector = "the blue key is under the mat", np.eye(8, dtype=np.float32)[5]
        passage = NewPassage(kind="document", text=text, vectors={"golden/words": vector})
        said = NewDocument(
            kind="utterance", text=text, stream="door", t0_us=12 * US, t1_us=14 * US, offset_us=12 * US,
            known_us=14 * US, origin="asr", speaker_id=speaker, confidence=0.75, passages=(passage,),
        )  # fmt: skip
        document_id = tx.add_document(said)
        anna = tx.add_entity(NewEntity(kind="person", name="Anna", known_us=20 * US))
        tx.merge_entity(tx.add_entity(NewEntity(kind="person", name="Anna Weber", known_us=20 * US)), anna, 20 * US)
        call = '{"task":"planner","model":"tiny-1","step":1,"prompt":"where is the blue key?","reply":"look","pictures":2,"tokens_in":70,'
        steps = (NewStep(actor="local", action_json='{"action":"search"}', result_json='{"evidence":[{"id":"u1"}]}', ms=2.0),)
        asked = {"recipe": "vam", "planner": "local", "asked_us": 40 * US, "as_of_us": 40 * US, "status": "answered", "confidence": 0.5}
        calls = (call + '"tokens_out":7,"ms":12.5,"usd":0.25,"error":""}', '{"action":"unreadable"}')
        where = {"question": "where is the blue key?", "answer": "under the mat", "evidence": (f"d{document_id}",)}
        tx.add_session(NewSession(steps=steps, calls=calls, **where, **asked))
        tx.add_session(NewSession(question="is there a cat?", answer="yes", evidence=("m1",), **asked))


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        with Store.open(Path(name) / "memory") as store:
            fill(store)
        Path(sys.argv[1]).write_bytes(gzip.compress((Path(name) / "memory" / "memory.db").read_bytes(), mtime=0))
