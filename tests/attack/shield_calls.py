"""Commands in this process, and small memories with whatever text in every place that has one."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import simplejpeg

from edgemem.cli.main import main
from edgemem.records import US, Observation, Quote
from edgemem.remember.entries import NewDocument, NewEntity, NewMoment, NewRelation, NewSegment, NewSession, NewStep
from edgemem.remember.store import Store

T0_US = 1_777_881_600 * US
"""2026-05-04T08:00:00Z"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def command(*arguments: object) -> Ended:
    """Run it as a terminal would. What is no SystemExit is a traceback to the user, and comes through."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
    return Ended(int(code or 0), *texts)  # type: ignore[call-overload]


class Texts(NamedTuple):
    """What stands where in a memory."""

    stream: str = "cam"
    speaker: str = "speaker 1"
    said: str = "the mug is there"
    read: str = "MUG"
    seen: str = "mug"
    written: str = "a red mug"
    summary: str = "[summary] 0:00 to 0:09 | granularity=10.000 s | structure=notes | focus=mugs\na mug"
    session: str = "where is the mug?"


def remembering(directory: Path, texts: Texts) -> Path:
    """A memory of one moment, its segment, what was read, said and written about it, a graph and a session."""
    picture = simplejpeg.encode_jpeg(np.full((48, 64, 3), 90, np.uint8), colorspace="BGR")
    at = {"stream": texts.stream, "offset_us": 0}
    span = {**at, "t0_us": T0_US, "t1_us": T0_US + 9 * US}
    with Store.open(directory) as store:
        store.ensure_stream(texts.stream, T0_US)
        with store.transaction() as tx:
            moment = tx.add_moment(
                NewMoment(
                    **at, seq=0, t_us=T0_US, width_px=64, height_px=48, sharpness=9.0, jpeg=picture, vectors={},
                    observations=(Observation("text", texts.read, 0.9), Observation("label", texts.seen, 0.9)),
                )
            )  # fmt: skip
            segment = tx.add_segment(NewSegment(**span, segmenter="test", moment_ids=(moment,), representative_id=moment))
            voice = tx.add_entity(NewEntity(kind="voice", name=texts.speaker, known_us=T0_US))
            thing = tx.add_entity(NewEntity(kind="object", name=texts.seen, known_us=T0_US))
            known = {**span, "known_us": T0_US + 9 * US}
            own = {"segment_id": segment, "moment_id": moment}
            tx.add_document(NewDocument(**known, **own, kind="event", text=f"[event] {texts.written}", origin="caption"))
            tx.add_document(NewDocument(**known, **own, kind="text", text=texts.read, origin="ocr"))
            tx.add_document(NewDocument(**known, kind="summary", text=texts.summary, origin="ocr", moment_id=moment))
            said = tx.add_document(NewDocument(**known, kind="utterance", text=texts.said, origin="asr", speaker_id=voice))
            tx.add_relation(
                NewRelation(
                    type="MENTIONS",
                    source_id=voice,
                    target_id=thing,
                    **known,
                    quotes=(Quote(text=texts.said, origin="asr", document_id=said),),
                )
            )
            tx.add_session(
                NewSession(
                    question=texts.session, recipe="default", planner="local", asked_us=T0_US + 10 * US, as_of_us=1 << 62,
                    status="answered", answer=texts.written, confidence=0.5, notes=(texts.read,),
                    steps=(NewStep(actor="local", action_json='{"action":"search","query":"mug"}', result_json="{}", ms=1.0),),
                )
            )  # fmt: skip
    return directory
