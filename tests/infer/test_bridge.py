"""Pictures named by labels, phrases matched to labels, colours of things."""

import math
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.answer.retrievers.match import confidence, features, score_moments
from edgemem.answer.weigh import weights
from edgemem.infer.bridge import LabelBridge, crop_boxes
from edgemem.infer.colour import ColourMap, name_pixels
from edgemem.infer.engines import Engines
from edgemem.infer.labels import Meanings, describe, heads, is_kind_of, labels_called, other_names, read_table
from edgemem.infer.phrase import COLOURS, FACTS, _fires, split_colours
from edgemem.records import Box, Image, Matrix
from edgemem.remember.results import Posting

BGR = {
    "red": (40, 30, 200), "green": (60, 160, 50), "blue": (190, 90, 30), "yellow": (40, 220, 240), "orange": (20, 130, 245),
    "purple": (150, 40, 120), "pink": (190, 150, 250), "brown": (30, 60, 110),
    "black": (15, 15, 15), "white": (245, 245, 245), "grey": (128, 128, 128),
}  # fmt: skip


@pytest.fixture(scope="module")
def bridge(engines: Engines, tmp_path_factory: pytest.TempPathFactory) -> LabelBridge:
    return LabelBridge(engines.role("classify"), engines.role("detect"), engines.role("embed_text"), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def meanings() -> Meanings:
    return Meanings(read_table())


def likest(meanings: Meanings, phrase: str, count: int) -> list[str]:
    order = np.argsort(-meanings.likeness(phrase), kind="stable")
    return [read_table()[i].name for i in order[:count]]


def test_every_label_has_a_name_of_its_own():
    for which, size in (("imagenet", 1000), ("coco", 80)):
        names = [label.name for label in read_table() if label.set == which]
        assert len(names) == len(set(names)) == size


def test_namesakes_are_between_speakers_by_order():
    bird, machine = describe(("crane", "crane"), "imagenet")
    assert (bird.name, machine.name) == ("crane (wading bird)", "crane (lifting device)")
    assert describe(("flux capacitor",), "imagenet")[0].name == "flux capacitor"


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [("vehicle", "airliner"), ("tool", "hammer"), ("drink", "espresso"), ("big cat", "lion"), ("snowy owl", "great grey owl"),
     ("hornet", "bee"), ("zebu", "ox"), ("flowers", "daisy"), ("garden spade", "shovel"), ("pug puppy", "dog")],
)  # fmt: skip
def test_a_phrase_finds_labels_of_its_kind(meanings: Meanings, phrase: str, expected: str):
    likeness = dict(zip((label.name for label in read_table()), meanings.likeness(phrase), strict=True))
    assert likeness[expected] > 0.6
    assert likeness[expected] > likeness["menu"]


@pytest.mark.parametrize(
    ("written", "name"),
    [("letterbox", "letter box"), ("hot air balloon", "hot-air balloon"), ("tooth brushes", "toothbrush"), ("wheel barrow", "wheelbarrow")],
)
def test_a_compound_is_found_in_one_word_in_two_or_with_a_hyphen(meanings: Meanings, bridge: LabelBridge, written: str, name: str):
    assert meanings.likeness(name).max() > 0
    assert np.array_equal(meanings.likeness(written), meanings.likeness(name))
    one, other = (bridge.match_labels(spelt) for spelt in (written, name))
    assert one.likeness == other.likeness


def test_a_label_of_two_words_is_the_same_in_one(bridge: LabelBridge):
    """No label is called a letterbox, but one is a letter box by another of its names."""
    label = max(bridge.match_labels("letterbox").labels.items(), key=lambda one: one[1])
    assert label[0] == "mailbox"
    assert label[1] == pytest.approx(bridge.match_labels("letter box").labels["mailbox"], abs=0.1)
    assert label[1] > 5 * bridge.match_labels("post").labels["mailbox"]


@pytest.mark.parametrize(
    ("phrase", "labels"),
    [("loo rolls", ("toilet tissue",)), ("counting frame", ("abacus",)),
     ("my old Bin Lorry", ("garbage truck",)), ("kitchen roll with flowers", ("paper towel",)),
     ("seal", ("sea lion",)), ("post seal", ("sea lion",)), ("letter box", ("mailbox",)), ("elephant seal", ()),
     ("television", ()), ("", ())],
)  # fmt: skip
def test_things_have_other_names_that_their_labels_do_not_have(phrase: str, labels: tuple[str, ...]):
    """Elephant seals are in WordNet, so they are not any seals."""
    assert labels_called(phrase) == labels


def test_a_kind_is_above_its_name_in_wordnet() -> None:
    for name, kind in (
        ("toucan", "birds"),
        ("king penguin", "bird"),
        ("crane (wading bird)", "bird"),
        ("violin", "musical instruments"),
        ("goblet", "glasses"),
    ):
        assert is_kind_of(name, kind)
    others = (
        ("dome", "bird"), ("crane (lifting device)", "bird"), ("toucan", "pink bird"), ("toucan", "farm animal"), ("bird", "toucan"),
        ("xyzzy", "bird"), ("hen", ""),
    )  # fmt: skip
    for name, kind in others:
        assert not is_kind_of(name, kind)


def test_a_thing_is_found_by_its_everyday_name_as_by_its_label(bridge: LabelBridge):
    for name, label in (("settee", "couch"), ("my sticking plasters", "Band Aid"), ("courgette", "zucchini")):
        called, own = bridge.match_labels(name), bridge.match_labels(label)
        found, wanted = ({**one.labels, **one.objects}[label] for one in (called, own))
        assert found >= wanted > 0.2
        assert called.likeness >= own.likeness


def test_other_names_are_of_labels_and_not_their_own():
    table, names = read_table(), other_names()
    assert len(names) > 2500
    assert {label for labels in names.values() for label in labels} <= {label.plain for label in table}
    assert not names.keys() & {label.plain.lower() for label in table}
    assert all(name == name.lower().strip() and labels for name, labels in names.items())


def test_facts_with_a_power_are_those_without_to_the_third(bridge: LabelBridge):
    facts = dict(zip(FACTS, bridge._matcher.facts("puppy").T, strict=True))
    for plain in ("photo", "lin"):
        assert facts[f"{plain}^3"] == pytest.approx(facts[plain] ** 3, abs=1e-6)
    assert facts["lin*photo"] == pytest.approx(facts["lin"] * facts["photo"], abs=1e-6)


def test_a_man_is_no_ape(meanings: Meanings):
    assert "person" in likest(meanings, "fireman", 1)
    assert not {"gorilla", "chimpanzee"} & set(likest(meanings, "man", 10))


def test_words_that_are_no_nouns_are_like_nothing(meanings: Meanings):
    assert not meanings.likeness("xyzzy").any()
    assert not meanings.likeness("").any()


def test_the_head_of_a_phrase_is_found_behind_its_modifiers():
    assert heads("small red cup of tea")[-1] == "cup"
    assert heads("plumber's wrench")[-1] == "wrench"


def test_colours_are_taken_out_of_a_phrase():
    assert split_colours("bright red car") == ("bright car", ("red",))
    assert split_colours("black and white cow") == ("cow", ("black", "white"))
    assert split_colours("salt and red pepper") == ("salt and pepper", ("red",))
    assert split_colours("red and big cow") == ("and big cow", ("red",))
    assert split_colours("orange") == ("orange", ())
    assert split_colours("gray orange") == ("orange", ("grey",))


@pytest.mark.parametrize("colour", COLOURS)
def test_every_basic_colour_is_named(colour: str):
    patch: Image = np.full((4, 4, 3), BGR[colour], np.uint8)
    assert {COLOURS[i] for i in name_pixels(patch).ravel()} == {colour}


def test_the_colour_that_stands_out_is_that_of_the_thing():
    picture: Image = np.full((90, 160, 3), BGR["grey"], np.uint8)
    cv2.circle(picture, (80, 45), 20, BGR["red"], -1)
    colours = ColourMap(picture)
    assert colours.standing_out(Box(0.375, 0.27, 0.625, 0.73)) == "red"
    assert not colours.standing_out(Box(0.0, 0.0, 0.2, 0.3))


@pytest.mark.parametrize("size", [(1, 1), (3, 900), (1280, 720), (720, 1280), (500, 500)])
def test_crops_of_any_shape_lie_inside(size: tuple[int, int]):
    boxes = crop_boxes(*size)
    assert boxes[0] == Box(0.0, 0.0, 1.0, 1.0)
    assert all(0 <= b.x0 < b.x1 <= 1.0001 and 0 <= b.y0 < b.y1 <= 1.0001 for b in boxes)


def test_photographs_are_found_by_what_they_show(bridge: LabelBridge, photographs: dict[str, Image]):
    sights = {name: bridge.look(image) for name, image in photographs.items()}
    postings = [
        Posting(moment_id=m, t_us=m, kind=o.kind, name=o.name, score=o.score, colour=o.colour, area=o.box.area if o.box else 0.0)
        for m, sight in enumerate(sights.values())
        for o in sight.observations
    ]
    names = list(sights)
    for phrase, name in (
        ("cup of coffee", "coffee"), ("hot drink", "coffee"), ("kitten", "chelsea"), ("pet", "chelsea"), ("motorbike", "motorcycle_left"),
        ("vehicle on two wheels", "motorcycle_left"), ("space launch", "rocket"), ("person", "astronaut"),
    ):  # fmt: skip
        ranked = score_moments(bridge.match_labels(phrase), postings, len(names))
        assert names[ranked[0].moment_id] == name, phrase


def test_the_probability_of_a_label_by_hand() -> None:
    """Nothing in common: the logistic of -7.12. All the same but the gloss, which is at .7: of 8.259 - 7.12."""
    found = _fires(np.array([[0] * 8, [1, 0.7, 1, 1, 1, 1, 1, 1]], np.float32))
    assert found == pytest.approx([1 / (1 + math.exp(7.12)), 1 / (1 + math.exp(-1.139))], rel=1e-4)


def test_the_same_head_is_the_same_last_word(bridge: LabelBridge) -> None:
    same = bridge._matcher.facts("toy car")[:, FACTS.index("same head")]
    heads_of = {label.name: same[i] for i, label in enumerate(bridge._matcher._labels)}
    assert (heads_of["sports car"], heads_of["toy terrier"], heads_of["car mirror"]) == (1, 0, 0)


def test_a_phrase_without_words_means_nothing(bridge: LabelBridge) -> None:
    assert bridge.match_labels("?!").likeness == 0.0


def test_all_kinds_of_a_thing_are_looked_for_as_one(bridge: LabelBridge) -> None:
    """Of 118 breeds more than the 40 likeliest; that any of them is given to a dog is all but certain."""
    dog, bear = bridge.match_labels("dog"), bridge.match_labels("bears")
    assert len(dog.kinds) == 118
    assert {"Pekinese", "keeshond"} < dog.kinds <= dog.labels.keys()
    assert {dog.labels[name] for name in dog.kinds} == {max(dog.labels.values())}
    fires = dict(zip((label.name for label in bridge._matcher._labels), bridge._matcher.firing("bears"), strict=True))
    assert bear.kinds == {"brown bear", "American black bear", "ice bear", "sloth bear"}
    assert bear.labels["ice bear"] == pytest.approx(1 - np.prod([1 - fires[name] for name in bear.kinds]))
    assert bear.labels["lion"] == pytest.approx(fires["lion"])
    assert len(bear.labels) == 40
    assert bridge.match_labels("mailbox").kinds == {"mailbox"}
    assert bridge.match_labels("red bear").kinds == bear.kinds
    assert not bridge.match_labels("bear that dances").kinds, "more than a bear"
    assert not bridge.match_labels("plorbit").kinds


def test_what_was_never_shown_is_less_likely_than_what_was(bridge: LabelBridge, photographs: dict[str, Image]):
    seen = bridge.look(photographs["coffee"]).observations
    postings = [Posting(moment_id=1, t_us=1, kind=o.kind, name=o.name, score=o.score, colour=o.colour, area=0.0) for o in seen]
    likely = {}
    for phrase in ("espresso", "zebra", "school bus", "igloo", "plorbit"):
        query = bridge.match_labels(phrase)
        likely[phrase] = confidence(features(query, postings, score_moments(query, postings, 1), beside=False))
    assert max(likely, key=lambda phrase: likely[phrase]) == "espresso"
    assert likely["espresso"] >= weights().surely > max(likely["zebra"], likely["plorbit"])


def test_likeness_says_what_the_vocabulary_knows(bridge: LabelBridge):
    assert bridge.match_labels("red espresso").likeness == bridge.match_labels("dog").likeness == 1.0
    assert 0.5 < bridge.match_labels("mandrill").likeness < 1.0
    assert bridge.match_labels("plorbit").likeness == 0.0


def test_a_sight_is_a_unit_vector_and_likeliest_labels_with_their_places(bridge: LabelBridge, photographs: dict[str, Image]):
    sight = bridge.look(photographs["chelsea"])
    labels = [o for o in sight.observations if o.kind == "label"]
    assert np.linalg.norm(sight.vector) == pytest.approx(1, abs=1e-3)
    assert [o.score for o in labels] == sorted((o.score for o in labels), reverse=True)
    assert all(o.box is not None and o.box.area > 0 for o in sight.observations)


def test_a_glance_is_nearer_to_the_same_picture_than_to_another(bridge: LabelBridge, photographs: dict[str, Image]):
    coffee, again, cat = bridge.glance([photographs["coffee"], photographs["coffee"][4:-4, 4:-4], photographs["chelsea"]])
    assert coffee @ again > 0.9 > coffee @ cat


def test_label_vectors_are_read_from_the_cache_the_second_time(engines: Engines, tmp_path: Path):
    class Counting:
        space = engines.role("embed_text").space
        texts = 0

        def embed_text(self, texts: list[str]) -> Matrix:
            self.texts += len(texts)
            return np.full((len(texts), self.space.dim), self.space.dim**-0.5, np.float32)

    counts = []
    for _ in range(2):
        embedder = Counting()
        LabelBridge(engines.role("classify"), None, embedder, tmp_path).match_labels("cup")
        counts.append(embedder.texts)
    assert counts[0] > 2000
    assert counts[1] == 2


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 700, 3)])
def test_odd_pictures_are_looked_at(bridge: LabelBridge, shape: tuple[int, ...]):
    sight = bridge.look(np.zeros(shape, np.uint8))
    assert np.isfinite(sight.vector).all()


@pytest.mark.parametrize("damage", ["empty", "garbage", "cannot be written"])
def test_a_damaged_cache_of_label_vectors_is_made_again(engines: Engines, tmp_path: Path, damage: str):
    """A power failure right after the first use leaves it empty."""
    cache = tmp_path / "cache"

    def labels() -> dict[str, float]:
        return dict(LabelBridge(engines.role("classify"), None, engines.role("embed_text"), cache).match_labels("cup").labels)

    whole = labels()
    if damage == "cannot be written":
        shutil.rmtree(cache)
        cache.write_text("no folder")
    for file in cache.glob("*.npy"):
        file.write_bytes(b"" if damage == "empty" else b"garbage")
    assert labels() == whole
    assert all(file.stat().st_size > 1000 for file in cache.glob("*.npy"))
