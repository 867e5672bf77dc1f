"""Engine cards: what is refused, and what replaces what."""

from __future__ import annotations

import pytest

from edgemem.errors import UsageError
from edgemem.infer.card import SizeRange, cards_dir, load_card, load_cards, with_parts

CARD = """
name = "{name}"
role = "classify"
decoder = "classifier"
[[source]]
kind = "file"
path = "weights.zip"
sha256 = "{digest}"
[source.members]
model = "model.onnx"
[files]
model = "model.onnx"
"""


def write(folder, name="eye", text=CARD, **changes):
    path = folder / f"{name}.toml"
    path.write_text(text.format(**{"name": name, "digest": "0" * 64, **changes}))
    return path


def test_every_shipped_card_loads_and_pins_its_weights():
    cards = load_cards([cards_dir()])
    assert {"efficientnet-lite3", "nanodet", "minilm-int8", "ppocr-v6", "label-bridge", "siglip2-base-hub"} <= set(cards)
    for card in cards.values():
        assert card.licence, card.name
        assert all(len(source.sha256) == 64 for source in card.source), card.name


def test_an_unknown_key_names_the_file_the_key_and_the_nearest(tmp_path):
    path = write(tmp_path, text=CARD.replace("decoder", "decodr"))
    with pytest.raises(UsageError, match=r'eye\.toml: .*"decodr".*did you mean "decoder"'):
        load_card(path)


def test_a_card_is_called_like_its_file(tmp_path):
    path = write(tmp_path)
    with pytest.raises(UsageError, match="must be the file name"):
        load_card(path.rename(tmp_path / "ear.toml"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{digest}", "abc", "64 lower-case hex digits"),
        ('path = "weights.zip"', "", 'needs "path"'),
        ('kind = "file"', 'kind = "pypi"\npackage = "p"', 'exact "version"'),
        ('kind = "file"', 'kind = "hub"\nurl = "http://elsewhere/m.onnx"', "https://"),
        ('[files]\nmodel = "model.onnx"', '[files]\nmodle = "model.onnx"', 'files.modle is neither.*did you mean "model"'),
        ('[files]\nmodel = "model.onnx"', '[files]\nmodel = "../model.onnx"', "plain file name"),
    ],
)
def test_a_card_that_cannot_work_is_refused(tmp_path, old, new, message):
    with pytest.raises(UsageError, match=message):
        load_card(write(tmp_path, text=CARD.replace(old, new)))


def test_a_card_in_a_later_folder_replaces_one_of_the_same_name(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    write(tmp_path / "a")
    write(tmp_path / "b", text='about = "mine"' + CARD)
    assert load_cards([tmp_path / "a", tmp_path / "b", tmp_path / "missing"])["eye"].about == "mine"


def test_a_part_that_does_not_exist_is_refused_with_the_nearest(tmp_path):
    write(tmp_path)
    write(tmp_path, "bridge", 'name = "bridge"\nrole = "embed_joint"\ndecoder = "d"\n[uses]\nclassify = "eyes"')
    with pytest.raises(UsageError, match=r'uses.classify: no card is called "eyes" \(did you mean "eye"'):
        load_cards([tmp_path])


def test_parts_come_before_what_is_made_of_them_and_circles_are_refused(tmp_path):
    write(tmp_path)
    write(tmp_path, "bridge", 'name = "bridge"\nrole = "embed_joint"\ndecoder = "d"\n[uses]\nclassify = "eye"')
    cards = load_cards([tmp_path])
    assert [card.name for card in with_parts(cards["bridge"], cards)] == ["eye", "bridge"]
    write(tmp_path, text='name = "eye"\nrole = "classify"\ndecoder = "d"\n[uses]\nembed_joint = "bridge"')
    cards = load_cards([tmp_path])
    with pytest.raises(UsageError, match="cycle: bridge -> eye -> bridge"):
        with_parts(cards["bridge"], cards)


MODELS = """
[models.model]
file = "model"
[models.model.inputs]
x = {{ shape = ["n", 4] }}
[models.model.outputs]
y = {{ shape = ["n", 3] }}
"""


def test_sizes_and_tolerances_of_a_card(tmp_path):
    more = "[models.model.ranges]\nn = {{ min = 1, usual = 2, max = 8 }}\n"
    more += "[tolerance]\ncosine = 0.98\noutputs = {{ y = 0.9 }}\nagreement = {{ y = 0.95 }}\n"
    card = load_card(write(tmp_path, text=CARD + MODELS + more))
    assert card.models["model"].ranges == {"n": SizeRange(1, 2, 8)}
    assert (card.tolerance.cosine, card.tolerance.outputs, card.tolerance.agreement) == (0.98, {"y": 0.9}, {"y": 0.95})
    plain = load_card(write(tmp_path, text=CARD + MODELS))
    assert (plain.models["model"].ranges, plain.tolerance.cosine) == ({}, 0.999)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("[models.model.ranges]\nm = {{ min = 1, usual = 1, max = 2 }}", r'no input has a free dimension "m" \(valid: n\)'),
        ("[models.model.ranges]\nn = {{ min = 0, usual = 1, max = 2 }}", "a range needs 1 <= min <= usual <= max"),
        ("[models.model.ranges]\nn = {{ min = 2, usual = 1, max = 2 }}", "a range needs 1 <= min <= usual <= max"),
        ("[models.model.ranges]\nn = {{ min = 1, usual = 3, max = 2 }}", "a range needs 1 <= min <= usual <= max"),
        ("[tolerance]\noutputs = {{ z = 0.9 }}", r'tolerance: no model has an output "z"'),
        ("[tolerance]\nagreement = {{ x = 0.9 }}", r'tolerance: no model has an output "x"'),
    ],
)
def test_sizes_and_tolerances_of_nothing_are_refused(tmp_path, more, message):
    with pytest.raises(UsageError, match=message):
        load_card(write(tmp_path, text=CARD + MODELS + more))


def test_every_free_size_of_a_shipped_card_has_a_range():
    """Otherwise no plan can be built for it."""
    for card in load_cards([cards_dir()]).values():
        for name, model in card.models.items():
            free = {size for tensor in model.inputs.values() for size in tensor.shape if isinstance(size, str)}
            assert set(model.ranges) == free, f"{card.name}.{name}"
