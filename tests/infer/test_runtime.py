"""Roles: which card is used, the messages when there is none, and a dual encoder that needs only a card."""

from __future__ import annotations

import numpy as np
import pytest
from edgemem_convert.graph import Graph
from onnx import TensorProto
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from edgemem.config import EngineSettings
from edgemem.errors import EngineError, UsageError
from edgemem.infer.card import cards_dir, load_cards
from edgemem.infer.engines import Engines
from edgemem.infer.fetch import ensure, sha256_of

COLOURS = ("blue", "green", "red")  # BGR, as pictures are stored


def dual_encoder(folder):
    """A real but tiny dual encoder: a picture's vector is its mean colour, a text's vector the colours that it names."""
    image = Graph("image")
    pixels = image.input("pixel_values", ["batch", 3, 32, 32])
    mean = image.op("ReduceMean", [image.op("Add", [pixels, image.floats(1)]), image.ints(2, 3)], keepdims=0)
    image.output(mean, "embeds", ["batch", 3])
    image.save(folder / "image.onnx")
    text = Graph("text")
    ids = text.input("input_ids", ["batch", "tokens"], TensorProto.INT64)
    table = np.zeros((6, 3), np.float32)
    table[2, 2], table[3, 1], table[4, 0] = 1, 1, 1  # RGB, as the decoder feeds pictures
    total = text.op("ReduceSum", [text.op("Gather", [text.const(table), ids]), text.ints(1)], keepdims=0)
    text.output(total, "embeds", ["batch", 3])
    text.save(folder / "text.onnx")
    words = {"[PAD]": 0, "[UNK]": 1, "blue": 2, "green": 3, "red": 4, "[END]": 5}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


def write_card(folder):
    sources = "".join(
        f'[[source]]\nkind = "file"\npath = "{file}"\nsha256 = "{sha256_of(folder / file)}"\nmembers = {{ {name} = "" }}\n'
        for name, file in (("image", "image.onnx"), ("text", "text.onnx"), ("tokenizer", "tokenizer.json"))
    )
    (folder / "colours.toml").write_text(
        f"""
name = "colours"
role = "embed_joint"
decoder = "dual_encoder"
{sources}
[files]
image = "image.onnx"
text = "text.onnx"
tokenizer = "tokenizer.json"
[models.image]
file = "image"
inputs = {{ pixel_values = {{ shape = ["batch", 3, 32, 32] }} }}
outputs = {{ embeds = {{ shape = ["batch", 3] }} }}
[models.text]
file = "text"
inputs = {{ input_ids = {{ dtype = "int64", shape = ["batch", "tokens"] }} }}
outputs = {{ embeds = {{ shape = ["batch", 3] }} }}
[parameters]
side_px = 32
mean = [0.5, 0.5, 0.5]
std = [0.5, 0.5, 0.5]
max_tokens = 8
end_token = 5
lower_case = true
prompt = "a photo of {{}}"
image_input = "pixel_values"
image_output = "embeds"
text_input = "input_ids"
text_output = "embeds"
[space]
name = "colours"
dim = 3
"""
    )


@pytest.fixture
def registered(engines):
    """The runtimes and decoders of the installed plugins."""
    return engines.runtimes._registered, engines._decoders


@pytest.mark.parametrize("resize", ["crop", "stretch", "pad"])
def test_a_dual_encoder_comes_by_a_card_alone(tmp_path, registered, resize):
    dual_encoder(tmp_path)
    write_card(tmp_path)
    text = (tmp_path / "colours.toml").read_text().replace("side_px = 32", f'side_px = 32\nresize = "{resize}"')
    (tmp_path / "colours.toml").write_text(text)
    cards = load_cards([cards_dir(), tmp_path])
    ensure(cards["colours"], tmp_path / "home", {})
    with Engines(cards, *registered, tmp_path / "home", EngineSettings(threads=1, roles={"embed_joint": "colours"})) as engines:
        joint = engines.role("embed_joint")
        pictures = []
        for channel in range(3):
            picture = np.zeros((40, 70, 3), np.uint8)
            picture[:, :, channel] = 255
            pictures.append(picture)
        similarity = joint.embed_text([f"A {name.upper()} wall" for name in COLOURS]) @ joint.glance(pictures).T
        assert similarity.argmax(axis=1).tolist() == [0, 1, 2]
        assert np.allclose(joint.look(pictures[0]).vector, joint.glance(pictures)[0], atol=1e-6)
        assert joint.space.name == "colours"


def test_what_is_missing_is_said_with_what_to_do(tmp_path, registered):
    cards = load_cards([cards_dir()])
    engines = Engines(cards, *registered, tmp_path)
    assert not engines.has("classify")
    with pytest.raises(EngineError, match="run: edgemem engines fetch efficientnet-lite3"):
        engines.role("classify")
    assert engines.missing("embed_joint").startswith("label-bridge needs classify")  # not the card that needs a hub
    with pytest.raises(EngineError, match=r'has the role "clasify" \(did you mean "classify"'):
        engines.role("clasify")
    assert "pip install edgemem-onnx" in Engines(cards, {}, registered[1], tmp_path).missing("classify")


def test_settings_name_a_card_and_it_is_not_replaced_in_silence(registered, weights_home, engines):
    assert engines.has("detect")
    cards = load_cards([cards_dir()])
    named = Engines(cards, *registered, weights_home, EngineSettings(roles={"embed_joint": "siglip2-base-hub"}))
    assert "siglip2-base-hub is not fetched" in named.missing("embed_joint")
    with pytest.raises(UsageError, match=r'no card is called "siglip" .*siglip2-base-hub'):
        Engines(cards, *registered, weights_home, EngineSettings(roles={"embed_joint": "siglip"}))
    with pytest.raises(UsageError, match='card "nanodet" has the role "detect"'):
        Engines(cards, *registered, weights_home, EngineSettings(roles={"classify": "nanodet"}))


def test_a_model_refuses_arrays_that_do_not_fit_its_card(tmp_path, registered):
    dual_encoder(tmp_path)
    write_card(tmp_path)
    card = load_cards([tmp_path])["colours"]
    files = ensure(card, tmp_path / "home", {})
    runtimes, decoders = registered
    engines = Engines({"colours": card}, runtimes, decoders, tmp_path / "home")
    engine = engines._load(card, "image", files["image"])
    good = np.zeros((2, 3, 32, 32), np.float32)
    assert engine.infer({"pixel_values": good})["embeds"].shape == (2, 3)
    with pytest.raises(EngineError, match="inputs are pixel_values; got pixels"):
        engine.infer({"pixels": good})
    with pytest.raises(EngineError, match="must be float32, got float64"):
        engine.infer({"pixel_values": good.astype(np.float64)})
    with pytest.raises(EngineError, match=r"shape \['batch', 3, 32, 32\], got \[2, 3, 31, 32\]"):
        engine.infer({"pixel_values": good[:, :, 1:]})
    engines.close()
    engines.close()
    with pytest.raises(EngineError, match="was closed"):
        engine.infer({"pixel_values": good})


def test_a_damaged_model_is_told_before_work_begins_and_else_when_it_is_used(tmp_path, registered):
    dual_encoder(tmp_path)
    write_card(tmp_path)
    card = load_cards([tmp_path])["colours"]
    files = ensure(card, tmp_path / "home", {})
    files["image"].write_bytes(b"\x00" * files["image"].stat().st_size)
    engines = Engines({"colours": card}, *registered, tmp_path / "home")
    with pytest.raises(EngineError, match=r"cannot be loaded.*edgemem engines check colours"):
        engines.role("embed_joint", now=True)
    joint = engines.role("embed_joint")
    assert joint.space.name == "colours"
    assert joint.embed_text(["a red wall"]).shape == (1, 3)
    with pytest.raises(EngineError, match=r"cannot be loaded.*edgemem engines check colours"):
        joint.glance([np.zeros((32, 32, 3), np.uint8)])
