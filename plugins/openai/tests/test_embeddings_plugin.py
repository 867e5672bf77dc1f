"""The contract: what the plugin registers, checked like that of every plugin; and the role `embed_text` through the command line."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

import edgemem_openai
import msgspec
import pytest
from edgemem_openai.testing_embeddings import EmbeddingServer

from edgemem.cli.app import CommandContext
from edgemem.cli.main import main
from edgemem.extend.testing import FakeEngine, SyntheticCamera, check_plugin
from edgemem.infer.card import EngineCard, Model, Tensor
from edgemem.infer.engines import DecoderParts
from edgemem.infer.roles import Space
from edgemem.remember.view import View

REMARK = """\
1
00:00:00,500 --> 00:00:02,000
The plumber comes at nine.

2
00:00:02,500 --> 00:00:03,500
The spare key hangs behind the boiler.
"""
CARD = """\
name = "sentences"
role = "embed_text"
decoder = "embed_hosted"
format = "embeddings-api"
[models.model.inputs]
request = { dtype = "uint8", shape = ["bytes"] }
[models.model.outputs]
embedding = { shape = ["inputs", 384] }
[space]
name = "sentences"
dim = 384
[parameters]
model = "behind"
[parameters.query]
text = "Query: {}"
[parameters.document]
text = "Passage: {}"
"""
RECIPE = """
summary = "no models but that of the text"
rate_fps = 1.0
[segment]
use = "fixed_window"
[[write]]
use = "event_document"
"""


def parts(role):
    tensors = {"request": Tensor(dtype="uint8", shape=["bytes"])}, {"embedding": Tensor(shape=["inputs", 3])}
    card = EngineCard(
        name="c", role=role, decoder="embed_hosted", format="embeddings-api", space=Space(name="s", dim=3),
        models={"model": Model(inputs=tensors[0], outputs=tensors[1])},
    )  # fmt: skip
    return DecoderParts(card, {}, {"model": FakeEngine(lambda _: {})}, {}, Path(tempfile.gettempdir()))


def test_the_plugin_keeps_the_contract():
    checked = check_plugin(
        edgemem_openai,
        parameters={("runtimes", "openai"): {"base_url": "http://127.0.0.1:9/v1"}, ("decoders", "embed_hosted"): {"model": "m"}},
        contexts={("decoders", "embed_hosted"): parts("embed_text")},
    )
    assert checked == ["runtimes/openai", "decoders/embed_hosted"]


@pytest.fixture(scope="session")
def sentences():
    """The packaged sentence embedder, which runs behind the server."""
    session = CommandContext(None, ("engines.threads=2",))
    from edgemem.infer.fetch import ensure

    ensure(session.cards["minilm-int8"], session.home, session.converters)
    return session.engines.of_card("minilm-int8")


@pytest.fixture
def board(tmp_path, monkeypatch, capsys):
    import cv2

    monkeypatch.setenv("EDGEMEM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EDGEMEM_CONFIG", raising=False)
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "sentences.toml").write_text(CARD)
    (tmp_path / "plain.toml").write_text(RECIPE)
    (tmp_path / "talk.srt").write_text(REMARK)
    (tmp_path / "talk").mkdir()
    for frame in SyntheticCamera(4).frames():
        cv2.imwrite(str(tmp_path / "talk" / f"{frame.seq}.png"), frame.image)

    def call(server, *arguments):
        chosen = (
            f'engines.cards=["{tmp_path / "cards"}"]', 'engines.runtime=["onnx","openai"]', "engines.roles.embed_text=sentences",
            f"engines.runtimes.openai.base_url={server.base_url}", "engines.runtimes.openai.backoff_s=0.001", "models.chat=none",
        )  # fmt: skip
        given = [part for setting in chosen for part in ("--set", setting)]
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments), "--memory", str(tmp_path / "memory"), "--recipe", str(tmp_path / "plain.toml"), "--json", *given])
        captured = capsys.readouterr()
        return SimpleNamespace(code=int(ended.value.code or 0), said=msgspec.json.decode(captured.out or b"null"), notes=captured.err)

    call.ingest = lambda server: call(server, "ingest", tmp_path / "talk", "--subtitles", tmp_path / "talk.srt")
    call.memory = tmp_path / "memory"
    return call


def behind(sentences):
    return lambda inputs: sentences.embed_text([one.text.partition(": ")[2] for one in inputs])


def test_what_is_said_is_embedded_as_a_passage_and_what_is_asked_as_a_query(board, sentences):
    with EmbeddingServer(behind(sentences)) as server:
        done = board.ingest(server)
        assert (done.code, done.said["documents"] >= 2) == (0, True), done.notes
        assert "Passage: The plumber comes at nine." in {one.text for one in server.inputs}
        assert not any(one.text.startswith("Query") for one in server.inputs)
        asked = board(server, "ask", "When does the man who repairs pipes arrive?")
        assert any(one.text.startswith("Query: ") and "repairs pipes" in one.text for one in server.inputs)
        assert "Passage: The plumber comes at nine." in {one.text for one in server.inputs}
        assert "by its words alone" not in asked.notes
    with View.open(board.memory) as view:
        vector = sentences.embed_text(["where does the other key hang?"])[0]
        best = view.search_passages("sentences", vector, 1)[0]
    assert best.document.text == "The spare key hangs behind the boiler."


def test_without_the_server_everything_goes_on_by_words(board, sentences, caplog):
    server = EmbeddingServer(behind(sentences)).__enter__()
    server.close()
    done = board.ingest(server)
    assert (done.code, done.said["documents"] >= 2) == (0, True), done.notes
    assert "documents are found by their words alone: sentences: 127.0.0.1" in caplog.text
    asked = board(server, "ask", "When does the plumber come?")
    assert asked.code == 0, asked.notes
    assert "nine" in asked.said["answer"]
    assert "was compared by its words alone: sentences: 127.0.0.1" in asked.notes
