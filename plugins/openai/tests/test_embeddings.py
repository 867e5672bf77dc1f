"""Hosted embeddings over real HTTP: what arrives at the server, what comes back, and what is said when it fails."""

from __future__ import annotations

import json
import threading
import time

import msgspec
import numpy as np
import pytest
import simplejpeg
from edgemem_openai import embedding_runtime, register_decoders, register_runtimes
from edgemem_openai.embedding_runtime import EmbeddingRuntime
from edgemem_openai.embedding_settings import CardServer, EmbeddingSettings, server_of
from edgemem_openai.embedding_wire import EmbeddingRequest, Input
from edgemem_openai.ledger import UsageLedger
from edgemem_openai.testing_embeddings import EmbeddingReply, EmbeddingServer

from edgemem.config import EngineSettings, ModelSettings
from edgemem.errors import ChatError, EngineError, UsageError
from edgemem.extend.hookspecs import Component
from edgemem.extend.testing import FakeJointEmbedder
from edgemem.infer.card import load_cards
from edgemem.infer.engines import Engines
from edgemem.infer.runtime import RuntimeContext
from edgemem.secret import reveal

DIM = 8
CARD = """\
name = "{name}"
role = "{role}"
decoder = "embed_hosted"
format = "embeddings-api"
[models.model.inputs]
request = {{ dtype = "uint8", shape = ["bytes"] }}
[models.model.outputs]
embedding = {{ shape = ["inputs", {dim}] }}
[space]
name = "{name}-space"
dim = {dim}
{uses}
[parameters]
model = "vectors-1"
{parameters}
"""
LOCAL = 'name = "here"\nrole = "embed_joint"\ndecoder = "fake"\n'
PAIR = """
[parameters.query]
text = "Query: {}"
extra = { task = "retrieval.query" }
[parameters.document]
text = "Passage: {}"
extra = { task = "retrieval.passage" }
[parameters.picture]
text = ""
extra = { task = "retrieval.passage" }
"""
CHAT = """
form = "messages"
open_reply = true
picture_px = 64
extra = { continue_final_message = true }
[parameters.query]
instruction = "Find the picture."
[parameters.document]
instruction = "Represent the text."
[parameters.picture]
text = ""
instruction = "Represent the picture."
"""


def letters(inputs):
    """Bags of letters and the mean colours: vectors of eight numbers, not of unit length."""
    rows = np.ones((len(inputs), DIM))
    for row, one in zip(rows, inputs, strict=True):
        for letter in one.text:
            row[ord(letter) % DIM] += 1
        if one.jpeg:
            row[:3] += simplejpeg.decode_jpeg(one.jpeg).mean(axis=(0, 1))
    return rows


@pytest.fixture
def server():
    with EmbeddingServer(letters) as running:
        yield running


@pytest.fixture
def embedder(tmp_path, server):
    """The object for the role of a card, its runtime pointed at the server."""
    made = []

    def make(parameters=PAIR, role="embed_text", models=None, dim=DIM, uses='[uses]\nembed_joint = "here"', **settings):
        folder = tmp_path / "cards"
        folder.mkdir(exist_ok=True)
        text = CARD.format(name="hosted", role=role, dim=dim, parameters=parameters, uses=uses if role == "embed_joint" else "")
        (folder / "hosted.toml").write_text(text)
        (folder / "here.toml").write_text(LOCAL)
        table = {"base_url": server.base_url, "backoff_s": 0.001, **settings}
        decoders = {c.name: c for c in [*register_decoders(), Component("fake", lambda _settings, _parts: FakeJointEmbedder())]}
        engines = Engines(
            load_cards([folder]), {c.name: c for c in register_runtimes()}, decoders, tmp_path,
            EngineSettings(runtime=["openai"], runtimes={"openai": table}, roles={role: "hosted"}), models=models,
        )  # fmt: skip
        made.append(engines)
        return engines.role(role, now=True)

    yield make
    for engines in made:
        engines.close()


def picture(colour=(0, 0, 255), width=300, height=200):
    return np.full((height, width, 3), colour, np.uint8)


def fails(action, words):
    with pytest.raises(EngineError) as caught:
        action()
    assert words in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_queries_and_documents_go_with_their_own_instruction(embedder, server):
    text = embedder()
    documents, queries = text.embed_text(["a mug", "a bus"]), text.embed_query(["a mug"])
    first, second = server.asked
    assert [one.text for one in first.inputs] == ["Passage: a mug", "Passage: a bus"]
    assert [one.text for one in second.inputs] == ["Query: a mug"]
    assert (first.body["task"], second.body["task"]) == ("retrieval.passage", "retrieval.query")
    assert (first.body["model"], documents.dtype, documents.shape) == ("vectors-1", np.float32, (2, DIM))
    assert np.allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-6)
    assert np.allclose(documents, letters(first.inputs) / np.linalg.norm(letters(first.inputs), axis=1, keepdims=True), atol=1e-6), (
        "the server sends its rows in another order"
    )
    assert not np.allclose(documents[0], queries[0])


def test_a_text_is_asked_for_once(embedder, server):
    text = embedder()
    first = text.embed_query(["a mug", "a bus", "a mug"])
    again = text.embed_query(["a bus", "a mug"])
    assert np.array_equal(first[[1, 0]], again)
    assert np.array_equal(first[0], first[2])
    assert [one.text for one in server.inputs] == ["Query: a mug", "Query: a bus"]
    assert text.embed_query([]).shape == (0, DIM)
    embedder(f"remember = 1\n{PAIR}").embed_query(["a", "b"])
    assert len(server.asked) == 2, "another object asks anew"


def test_a_request_holds_at_most_a_batch(embedder, server):
    embedder(batch=2).embed_text(["one", "two", "three", "four", "five"])
    assert [len(asked.inputs) for asked in server.asked] == [2, 2, 1]


def test_a_long_text_is_cut_and_braces_are_text(embedder, server):
    embedder(f"max_chars = 5\n{PAIR}").embed_query(["{x}yzabc"])
    assert server.inputs[0].text == "Query: {x}yz"
    embedder().embed_query([9000 * "x"])
    assert len(server.inputs[1].text) == len("Query: ") + 8000


def test_pictures_go_as_objects_within_their_size(embedder, server):
    joint = embedder(f"picture_px = 128\n{PAIR}", "embed_joint", send_pictures=True)
    vectors = joint.embed_images([picture(), picture((255, 0, 0))])
    (asked,) = server.asked
    assert [list(one) for one in asked.body["input"]] == [["image"], ["image"]]
    assert asked.body["task"] == "retrieval.passage"
    height, width, _, _ = simplejpeg.decode_jpeg_header(asked.inputs[0].jpeg)
    assert (width, height) == (128, 85)
    assert vectors.shape == (2, DIM)
    assert vectors[0] @ vectors[1] < 0.2, "red is not blue"
    assert np.allclose(joint.embed_text(["mug"]), joint.embed_query(["mug"]))
    assert server.inputs[-1].text == "Query: mug", "what asks for pictures is a query"
    assert joint.embed_images([]).shape == (0, DIM)


def test_messages_hold_the_instruction_the_picture_and_an_open_reply(embedder, server):
    joint = embedder(CHAT, "embed_joint", send_pictures=True)
    joint.embed_images([picture(), picture((0, 255, 0))])
    joint.embed_text(["a mug"])
    joint.embed_query(["a mug"])
    assert [len(asked.inputs) for asked in server.asked] == [1, 1, 1]
    seen, sought = server.asked[0], server.asked[2]
    assert (seen.inputs[0].instruction, sought.inputs[0].instruction) == ("Represent the picture.", "Find the picture.")
    assert [message["role"] for message in seen.body["messages"]] == ["system", "user", "assistant"]
    assert [part["type"] for part in seen.body["messages"][1]["content"]] == ["image_url"]
    assert sought.body["messages"][1]["content"] == [{"type": "text", "text": "a mug"}]
    assert seen.body["messages"][2]["content"] == [{"type": "text", "text": ""}]
    assert seen.body["continue_final_message"] is True
    assert "input" not in seen.body
    vectors = joint.embed_images([picture((c, c, 0)) for c in range(0, 250, 25)])
    alone = np.concatenate([joint.embed_images([picture((c, c, 0))]) for c in range(0, 250, 25)])
    assert np.allclose(vectors, alone), "parallel requests keep their order"


def test_a_text_stands_beside_the_picture_and_an_empty_one_is_a_text(embedder, server):
    beside = CHAT.replace('[parameters.picture]\ntext = ""', '[parameters.picture]\ntext = "What is shown?"')
    joint = embedder(beside, "embed_joint", send_pictures=True)
    joint.embed_images([picture()])
    joint.embed_query([""])
    shown, sought = (asked.body["messages"][1]["content"] for asked in server.asked)
    assert [part["type"] for part in shown] == ["image_url", "text"]
    assert shown[1]["text"] == "What is shown?"
    assert sought == [{"type": "text", "text": ""}]


def test_messages_are_sent_several_at_a_time(embedder, server):
    together = threading.Barrier(2)

    def meeting(inputs):
        together.wait(timeout=20)
        return letters(inputs)

    server._embed = meeting
    embedder(CHAT, parallel=2).embed_text(["one", "two"])
    assert not together.broken


def test_a_cost_limit_needs_one_price(embedder, server):
    for prices in ({"usd_per_million": 1.0}, {"cards": {"hosted": {"usd_per_million": 1.0}}}):
        fails(lambda prices=prices: embedder(usd_per_day=1e-9, **prices).embed_text(["a"]), "usd_per_day")
        embedder(usd_per_day=1.0, **prices).embed_text(["a"])
    assert len(server.asked) == 2


def test_what_is_not_set_is_careful():
    settings = EmbeddingSettings()
    assert settings.send_pictures is False
    assert (settings.batch, settings.parallel, settings.retries, settings.tokens_per_day) == (16, 4, 2, 10_000_000)
    assert (settings.connect_s, settings.call_s, settings.backoff_s, settings.rest_s) == (5.0, 60.0, 0.5, 20.0)


def test_pictures_are_made_smaller_unless_the_card_says_otherwise(embedder, server):
    embedder(PAIR, "embed_joint", send_pictures=True).embed_images([picture(width=1000, height=800)])
    embedder(f"picture_px = 1\nmax_chars = 1\n{PAIR}", "embed_joint", send_pictures=True).embed_images([picture()])
    sizes = [simplejpeg.decode_jpeg_header(one.jpeg)[:2] for one in server.inputs]
    assert sizes == [(410, 512), (1, 1)]


def test_no_picture_leaves_before_the_settings_say_so(embedder, server):
    refused = fails(lambda: embedder(PAIR, "embed_joint").embed_images([picture()]), "set engines.runtimes.openai.send_pictures = true")
    assert refused.startswith("hosted: pictures stay on this device")
    board = ModelSettings(send_pictures=False)
    joint = embedder(PAIR, "embed_joint", board, send_pictures=True)
    fails(lambda: joint.embed_images([picture()]), "set models.send_pictures = true")
    assert server.asked == []
    assert joint.embed_text(["a mug"]).shape == (1, DIM), "text may be sent all the same"


def test_what_is_not_for_strangers_is_blackened_in_every_text(embedder, server):
    rules = ModelSettings(redact=["secret word", r"\d{4}-\d{4}"])
    text = embedder(f"max_chars = 16\n{PAIR}", models=rules)
    text.embed_query(["the se\u200bcret word is out", "card 1234-5678 here"])
    text.embed_text(["a sec\u00adret word"])
    assert [one.text for one in server.inputs] == ["Query: the █ is out", "Query: card █ here", "Passage: a █"]
    text.embed_text(["pay by 1234-5678"])
    assert server.inputs[-1].text == "Passage: pay by █", "what is cut is cut after that"
    text.embed_query(["card is 1234-567890"])
    assert "1234" not in server.inputs[-1].text


def test_glances_names_and_crops_never_ask_the_server(embedder, server):
    joint = embedder(PAIR, "embed_joint", send_pictures=True)
    here = FakeJointEmbedder()
    assert joint.local.space.name == here.space.name
    assert np.array_equal(joint.glance([picture()]), here.glance([picture()]))
    assert joint.look(picture()).observations == here.look(picture()).observations
    assert joint.crop_space is None
    fails(lambda: joint.crops(picture()), "parts of pictures")
    assert server.asked == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again(embedder, server, status):
    server.replies += [EmbeddingReply.failing(status), EmbeddingReply.failing(status)]
    assert embedder().embed_text(["a"]).shape == (1, DIM)
    assert len(server.asked) == 3


def test_tries_are_limited_and_retry_after_is_kept(embedder, server):
    server.replies += [EmbeddingReply.failing(500, "out of memory")] * 3
    text = embedder()
    fails(lambda: text.embed_text(["a"]), "replies 500: out of memory (3 tries)")
    server.replies.append(EmbeddingReply.failing(429, retry_after_s=0.5))
    start = time.monotonic()
    text.embed_text(["a"])
    assert time.monotonic() - start >= 0.5
    server.replies.append(EmbeddingReply.failing(429, retry_after_s=600))
    fails(lambda: text.embed_text(["b"]), "asks to wait 600 s")


ROW = '{"embedding": [%s]}'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (ROW % "1, 2, 3", "makes vectors of 3 dimensions, the card says 8"),
        (ROW % "", "makes vectors of 0 dimensions, the card says 8"),
        (ROW % ("0, " * 7 + "0"), "no direction"),
        (ROW % ("1e300, " * 7 + "1"), "no direction"),
        (ROW % ("NaN, " * 7 + "1"), "no list of embeddings"),
        (ROW % ("null, " * 7 + "1"), "no list of embeddings"),
        (f"{ROW % '1'}, {ROW % '2'}", "2 embeddings for 1 inputs"),
        ('"what?"', "no list of embeddings"),
        ('"what? ' + 300 * "x" + '"', "no list of embeddings"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(embedder, server, body, words):
    server.replies.append(EmbeddingReply(body=f'{{"data": [{body}]}}'.encode()))
    line = fails(lambda: embedder().embed_text(["a"]), words)
    assert line.startswith(f"hosted: 127.0.0.1:{server.port} ")
    assert len(line) < 200
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (EmbeddingReply.failing(404, "no such model"), "check engines.runtimes.openai.cards.hosted.model"),
        (EmbeddingReply.failing(413, "too much"), "too long"),
        (EmbeddingReply.failing(400, "bad luck"), "replies 400: bad luck"),
        (EmbeddingReply(body=b"<html>", headers=(("Content-Type", "text/html; charset=utf-8"),)), "web page"),
        (EmbeddingReply(status=307, headers=(("Location", "http://127.0.0.1:9/v1"),)), "redirects the request"),
    ],
)
def test_what_does_not_pass_is_said_with_what_to_do(embedder, server, reply, words):
    server.replies.append(reply)
    fails(lambda: embedder().embed_text(["a"]), words)
    assert len(server.asked) == 1


def test_a_silent_server_is_left_alone_for_a_while(embedder, server, tmp_path):
    server.replies.append(EmbeddingReply(wait_s=20))
    text = embedder(call_s=0.3, rest_s=60)
    start = time.monotonic()
    fails(lambda: text.embed_text(["a"]), "raise engines.runtimes.openai.call_s")
    (line,) = UsageLedger(tmp_path / "openai.db").lines(1)
    assert line.tokens_in == 12, "it may charge for what it got"
    fails(lambda: text.embed_text(["a"]), "tried again in")
    assert time.monotonic() - start < 5
    assert len(server.asked) == 1


def test_a_reply_is_read_to_its_end_within_limits(monkeypatch):
    soon = time.monotonic() + 60
    assert embedding_runtime._read([b"ab", b"c"], soon) == b"abc"
    with pytest.raises(ChatError, match="raise it, or choose a faster model"):
        embedding_runtime._read([b"ab", b"c"], time.monotonic() - 1)
    monkeypatch.setattr(embedding_runtime, "REPLY_BYTES", 3)
    assert embedding_runtime._read([b"ab", b"c"], soon) == b"abc"
    with pytest.raises(ChatError, match="does not end"):
        embedding_runtime._read([b"ab", b"cd"], soon)


def test_a_server_that_is_gone_is_said_and_is_asked_again_when_it_is_back(embedder, server, tmp_path):
    text = embedder(rest_s=0)
    port = server.port
    server.close()
    fails(lambda: text.embed_text(["a"]), "cannot be reached")
    assert UsageLedger(tmp_path / "openai.db").lines(1) == []
    with EmbeddingServer(letters, port=port):
        assert text.embed_text(["a"]).shape == (1, DIM)


def test_the_key_goes_to_its_server_and_is_never_shown(embedder, server, tmp_path, monkeypatch):
    server._api_key = "top-secret"
    assert "top-secret" not in fails(lambda: embedder(api_key="top-secreT").embed_text(["a"]), "EDGEMEM_EMBEDDINGS_API_KEY")
    (tmp_path / "key").write_text("top-secret\n")
    embedder(api_key_file=str(tmp_path / "key")).embed_text(["a"])
    monkeypatch.setenv("EDGEMEM_EMBEDDINGS_API_KEY", "top-secret")
    embedder().embed_text(["a"])
    monkeypatch.setenv("EDGEMEM_EMBEDDINGS_API_KEY", "another")
    embedder(api_key="top-secret").embed_text(["a"])
    assert len(server.asked) == 3


def test_a_key_goes_to_no_other_server():
    settings = EmbeddingSettings(
        base_url="http://one/v1/", api_key="mine",
        cards={
            "b": CardServer(base_url="http://two/v1"), "c": CardServer(model="big", usd_per_million=2.0), "d": CardServer(api_key="own"),
        },
        usd_per_million=1.0,
    )  # fmt: skip
    served = {card: server_of(card, "small", settings, {"OPENAI_API_KEY": "chat"}) for card in "abcd"}
    assert {card: (one.base_url, reveal(one.api_key), one.model) for card, one in served.items()} == {
        "a": ("http://one/v1", "mine", "small"), "b": ("http://two/v1", "", "small"),
        "c": ("http://one/v1", "mine", "big"), "d": ("http://one/v1", "own", "small"),
    }  # fmt: skip
    assert [served[card].usd(1_000_000, 5) for card in "ac"] == [1.0, 2.0]
    bare = EmbeddingSettings(base_url="http://one/v1")
    assert reveal(server_of("a", "m", bare, {"OPENAI_API_KEY": "chat"}).api_key) == "", "the key of the chat goes to OpenAI alone"
    official = EmbeddingSettings(base_url="https://api.openai.com/v1")
    assert reveal(server_of("a", "m", official, {"OPENAI_API_KEY": "chat"}).api_key) == "chat"
    both = {"OPENAI_API_KEY": "chat", "EDGEMEM_EMBEDDINGS_API_KEY": "own"}
    assert reveal(server_of("a", "m", official, both).api_key) == "own"


@pytest.mark.parametrize(("usage", "tokens"), [(True, 14), (False, 30)])
def test_what_is_used_stands_in_the_ledger(embedder, server, tmp_path, usage, tokens):
    server._usage = usage
    embedder(usd_per_million=10.0).embed_text(["a mug", "a bus"])
    (line,) = UsageLedger(tmp_path / "openai.db").lines(1)
    assert (line.task, line.model, line.place, line.calls) == ("embedding", "vectors-1", f"127.0.0.1:{server.port}", 1)
    assert abs(line.tokens_in - tokens) <= 8
    assert (line.tokens_in == 14) is usage
    assert line.usd == pytest.approx(line.tokens_in * 10 / 1e6)


def test_a_day_has_a_limit_of_its_own(embedder, server, tmp_path):
    text = embedder(tokens_per_day=60)
    for word in ("a", "b", "c"):
        text.embed_text([word])
    server._usage = False
    with pytest.raises(EngineError, match=r"engines\.runtimes\.openai\.tokens_per_day = 60 is reached"):
        text.embed_text(["one more text that is long enough to be more than what is left of the day", *map(str, range(5))])
    assert len(server.asked) == 3
    fails(lambda: embedder(PAIR, "embed_joint", send_pictures=True, tokens_per_day=900).embed_images([picture()]), "tokens_per_day")
    assert sum(line.tokens_in for line in UsageLedger(tmp_path / "openai.db").lines(1)) == 21


def test_a_request_is_estimated_from_above_before_it_is_sent(embedder, server):
    """ "Passage: {}" and "abc" are 14 bytes: 4 tokens of three bytes, and 8 for what surrounds them. A picture counts as 1,000."""
    embedder(tokens_per_day=12).embed_text(["abc"])
    fails(lambda: embedder(tokens_per_day=18).embed_text(["abc"]), "tokens_per_day = 18 is reached (7 tokens today)")
    fails(lambda: embedder(PAIR, "embed_joint", send_pictures=True, tokens_per_day=7 + 1007).embed_images([picture()]), "is reached")
    embedder(PAIR, "embed_joint", send_pictures=True, tokens_per_day=7 + 1008).embed_images([picture()])
    assert len(server.asked) == 2


def test_a_failed_request_costs_nothing_and_a_useless_reply_does(embedder, server, tmp_path):
    text = embedder(retries=0)
    server.replies.append(EmbeddingReply.failing(500))
    fails(lambda: text.embed_text(["a"]), "500")
    assert UsageLedger(tmp_path / "openai.db").lines(1) == []
    server.replies.append(EmbeddingReply(body=b"{}"))
    fails(lambda: text.embed_text(["a"]), "no list of embeddings")
    assert UsageLedger(tmp_path / "openai.db").lines(1)[0].tokens_in > 5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameters": '[parameters.query]\ntext = "no place"'}, "query.text must hold {}"),
        ({"parameters": '[parameters.document]\ntext = "no place"'}, "document.text must hold {}"),
        ({"parameters": '[parameters.query]\ninstruction = "x"'}, 'need form = "messages"'),
        ({"parameters": "open_reply = true"}, 'need form = "messages"'),
        ({"parameters": '[parameters.picture]\ntext = "x"'}, 'picture.text needs form = "messages"'),
        ({"parameters": 'form = "chat"'}, "form"),
        ({"parameters": "picture_px = 0"}, "must be above 0"),
        ({"base_url": "127.0.0.1:80"}, "must start with http"),
        ({"batch": 0}, "batch must be above 0"),
        ({"retries": -1}, "must not be negative"),
        ({"usd_per_day": 1.0}, "needs usd_per_million"),
        ({"cards": {"hosted": {"base_url": "ftp://x"}}}, "must start with http"),
        ({"cards": {"hosted": {"modle": "x"}}}, "modle"),
        ({"adress": "http://x"}, "adress"),
        ({"parameters": "max_chars = 0"}, "must be above 0"),
        ({"parameters": "picture_side = 3"}, "picture_side"),
        ({"parameters": '[parameters.query]\nwords = "{}"'}, "words"),
    ],
)
def test_a_card_or_settings_that_cannot_work_are_refused(embedder, changes, words):
    with pytest.raises(UsageError) as caught:
        embedder(**changes)
    assert words in str(caught.value)


def test_a_card_that_is_not_complete_is_refused(embedder, tmp_path):
    fails(lambda: embedder(role="embed_joint", uses=""), 'embed_joint = "label-bridge"')
    fails(lambda: embedder(role="classify"), 'no role "classify"')
    with pytest.raises(EngineError, match=r"it has no server: set engines\.runtimes\.openai\.base_url"):
        EmbeddingRuntime(EmbeddingSettings(), RuntimeContext(tmp_path, 1), {})
    other = EmbeddingSettings(cards={"other": CardServer(base_url="http://127.0.0.1:9/v1")})
    runtime = EmbeddingRuntime(other, RuntimeContext(tmp_path, 1), {})
    assert runtime.describe() == "embeddings of http://127.0.0.1:9/v1; no picture is sent"
    with pytest.raises(EngineError, match="EDGEMEM_EMBEDDINGS_BASE_URL: base_url must start with http"):
        EmbeddingRuntime(EmbeddingSettings(), RuntimeContext(tmp_path, 1), {"EDGEMEM_EMBEDDINGS_BASE_URL": "hub"})
    from_environment = {"EDGEMEM_EMBEDDINGS_BASE_URL": "http://hub/v1"}
    runtime = EmbeddingRuntime(EmbeddingSettings(send_pictures=True), RuntimeContext(tmp_path, 1), from_environment)
    assert runtime.describe() == "embeddings of http://hub/v1; kept pictures are sent"


def test_an_engine_takes_requests_and_nothing_else_and_ends(embedder):
    text = embedder()
    engine = text._engine.loaded()
    fails(lambda: engine.infer({"request": np.frombuffer(b"what", np.uint8)}), "no request for embeddings")
    fails(lambda: engine.infer({"texts": np.zeros(1, np.uint8)}), "inputs are request")
    request = EmbeddingRequest(model="m", inputs=(Input(text="a"),))
    assert EmbeddingRequest.of(request.array()) == request
    assert json.loads(json.dumps(request.body("m"))) == {"model": "m", "input": ["a"]}
    engine.close()
    fails(lambda: text.embed_text(["a"]), "was closed")


def test_a_runtime_that_is_not_in_the_order_is_named(tmp_path, server):
    (tmp_path / "hosted.toml").write_text(CARD.format(name="hosted", role="embed_text", dim=DIM, parameters="", uses=""))
    settings = EngineSettings(runtime=["onnx"], runtimes={"openai": {"base_url": server.base_url}})
    runtimes = {c.name: c for c in register_runtimes()} | {"onnx": Component("onnx", lambda _settings, _context: _Onnx())}
    engines = Engines(load_cards([tmp_path]), runtimes, {c.name: c for c in register_decoders()}, tmp_path, settings)
    assert 'add it to engines.runtime, as in --set engines.runtime=["onnx","openai"]' in engines.missing("embed_text")


class _Onnx:
    formats = frozenset({"onnx"})


def test_a_key_in_the_table_of_a_runtime_is_not_shown():
    from edgemem.config import dump, load

    settings = load(None, ["engines.runtimes.openai.api_key=top-secret"])
    assert "top-secret" not in repr(settings)
    assert "top-secret" not in msgspec.json.encode(dump(settings)).decode()
