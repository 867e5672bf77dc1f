"""Prompts, and chats that point to a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import simplejpeg
from edgemem_openai.chat import OpenAIChat
from edgemem_openai.settings import OpenAISettings

from edgemem.cli.app import CommandContext
from edgemem.cli.main import main
from edgemem.clock import from_iso
from edgemem.config import convert
from edgemem.infer.chat import ChatMessage, Prompt
from edgemem.infer.fetch import ensure
from edgemem.records import US, Observation
from edgemem.remember.entries import NewDocument, NewMoment, NewSegment
from edgemem.remember.store import Store

START_US = from_iso("2026-05-04T10:00:00Z")
WALK = (
    (5, "street, traffic light", "caption"),
    (20, "red coffee mug, kitchen table", "caption"),
    (40, "tabby cat, sofa", "caption"),
    (60, "MARLOW BAKERY", "ocr"),
    (90, "blue bicycle, garden", "caption"),
)
"""Second of the stream, text, origin."""


@pytest.fixture
def asking():
    """A prompt of one message, or with fields of its own."""

    def make(text="where is the mug?", **fields):
        return Prompt(**{"task": "planner", "messages": (ChatMessage(role="user", text=text),), "max_tokens": 50, **fields})

    return make


@pytest.fixture
def make_chat(tmp_path):
    """A chat with its own data directory and short waits between tries."""
    chats = []

    def make(server=None, environment=(), home=tmp_path, **settings):
        table = {"backoff_s": 0.001, "model": "m", **({"base_url": server.base_url} if server else {}), **settings}
        chats.append(OpenAIChat(convert(table, OpenAISettings, "openai"), home, dict(environment)))
        return chats[-1]

    yield make
    for chat in chats:
        chat.close()


@pytest.fixture(scope="session")
def smollm2():
    """The address of a server that serves SmolLM2, in a process of its own."""
    session = CommandContext(None, ())
    card = session.cards["smollm2-135m"]
    weights = ensure(card, session.home, session.converters)["model"]
    script = Path(__file__).with_name("llama_server.py")
    with subprocess.Popen(
        [sys.executable, str(script), str(weights), "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process.stdout.readline().strip() + "/v1"
        process.stdin.close()
        process.wait(timeout=30)


@pytest.fixture(scope="session")
def memory(tmp_path_factory):
    """A memory of a walk: pictures, labels, a sign, and documents about them."""
    directory = tmp_path_factory.mktemp("walk") / "memory"
    with Store.open(directory) as store:
        store.ensure_stream("walk", START_US)
        for seq, (second, words, origin) in enumerate(WALK):
            _remember(store, seq, second, words, origin)
    return directory


def _remember(store, seq, second, words, origin):
    t_us = START_US + second * US
    picture = np.full((120, 160, 3), 20 * seq, np.uint8)
    seen = Observation(kind="text" if origin == "ocr" else "label", name=words, score=0.9)
    with store.transaction() as tx:
        moment = tx.add_moment(
            NewMoment(
                stream="walk", seq=seq, t_us=t_us, offset_us=second * US, width_px=160, height_px=120, sharpness=50.0,
                jpeg=simplejpeg.encode_jpeg(picture, colorspace="BGR"), vectors={}, observations=(seen,),
            )
        )  # fmt: skip
        segment = tx.add_segment(
            NewSegment(
                stream="walk",
                segmenter="test",
                t0_us=t_us,
                t1_us=t_us,
                offset_us=second * US,
                moment_ids=(moment,),
                representative_id=moment,
            )
        )
        tx.add_document(
            NewDocument(
                kind="event", text=f"[event] {words}", stream="walk", t0_us=t_us, t1_us=t_us, offset_us=second * US, known_us=t_us,
                origin=origin, segment_id=segment, moment_id=moment,
            )
        )  # fmt: skip


@pytest.fixture
def ask(memory, tmp_path, monkeypatch, capsys):
    """`edgemem ask --planner vam` in a home without models: (exit code, the JSON object if there is one, the notes)."""
    monkeypatch.setenv("EDGEMEM_HOME", str(tmp_path))
    monkeypatch.delenv("EDGEMEM_CONFIG", raising=False)

    def call(question, *settings):
        chosen = [part for setting in settings for part in ("--set", setting)]
        with pytest.raises(SystemExit) as ended:
            main(["ask", question, "--memory", str(memory), "--recipe", "vam", "--planner", "vam", "--json", *chosen])
        captured = capsys.readouterr()
        return int(ended.value.code or 0), msgspec.json.decode(captured.out or b"null"), captured.err

    return call
