"""The example cards make the requests that their servers document. No model was ever behind them here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from edgemem_openai.embedding_decoder import hosted_embedder
from edgemem_openai.embedding_settings import HostedSettings
from edgemem_openai.embedding_wire import EmbeddingRequest

from edgemem.config import convert
from edgemem.extend.testing import FakeEngine, FakeJointEmbedder
from edgemem.infer.card import cards_dir, load_cards
from edgemem.infer.engines import DecoderParts

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))


@pytest.fixture
def requests(tmp_path):
    """The bodies that a card sends for a picture, and for a query."""

    def of(name):
        card, asked = load_cards([cards_dir(), EXAMPLES])[name], []

        def answer(arrays):
            asked.append(EmbeddingRequest.of(arrays["request"]))
            return {"embedding": np.ones((len(asked[-1].inputs), card.space.dim), np.float32)}

        settings = convert(card.parameters, HostedSettings, name)
        uses = {"embed_joint": FakeJointEmbedder()}
        joint = hosted_embedder(settings, DecoderParts(card, {}, {"model": FakeEngine(answer)}, uses, tmp_path))
        joint.embed_images([np.zeros((90, 160, 3), np.uint8)])
        joint.embed_text(["a red mug"])
        return [msgspec.json.decode(msgspec.json.encode(request.body(request.model))) for request in asked]

    return of


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_a_whole_card(name):
    card = load_cards([cards_dir(), EXAMPLES])[name]
    assert (card.decoder, card.format, card.uses) == ("embed_hosted", "embeddings-api", {"embed_joint": "label-bridge"})
    assert card.models["model"].outputs["embedding"].shape[-1] == card.space.dim
    assert "Never run" in Path(card.origin).read_text()


def test_vllm_gets_the_messages_of_its_example(requests):
    picture, query = requests("qwen3-vl-embedding-2b")
    system, user, assistant = picture["messages"]
    assert system == {"role": "system", "content": [{"type": "text", "text": "Represent the user's input."}]}
    (shown,) = user["content"]
    assert (shown["type"], shown["image_url"]["url"][:23]) == ("image_url", "data:image/jpeg;base64,")
    assert assistant == {"role": "assistant", "content": [{"type": "text", "text": ""}]}
    assert (picture["continue_final_message"], picture["add_special_tokens"]) == (True, True)
    assert query["messages"][0]["content"][0]["text"] == "Retrieve images or text relevant to the user's query."
    assert query["messages"][1] == {"role": "user", "content": [{"type": "text", "text": "a red mug"}]}
    assert query["model"] == "Qwen/Qwen3-VL-Embedding-2B"


def test_jina_gets_objects_and_the_task_of_a_query(requests):
    picture, query = requests("jina-clip-v2")
    assert picture["input"][0]["image"].startswith("data:image/jpeg;base64,")
    assert "task" not in picture
    assert query == {
        "model": "jina-clip-v2", "input": ["a red mug"], "task": "retrieval.query", "dimensions": 1024, "normalized": True,
        "embedding_type": "float",
    }  # fmt: skip
