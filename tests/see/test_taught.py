"""Things that were shown once: learnt, found again in what is stored and in what comes, taken back, forgotten, carried along."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from edgemem.answer.retrieve import Query
from edgemem.answer.retrievers.frames import taught_hits
from edgemem.errors import UsageError
from edgemem.infer.roles import Crop, ImageAnalysis, Space
from edgemem.records import US, Box, Moment
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewDocument, NewMention, NewMoment, NewPart
from edgemem.remember.export import export
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.imports import import_into
from edgemem.remember.names import bare_name
from edgemem.remember.store import Store
from edgemem.see import likeness, pixels
from edgemem.see.keypoints import inliers, points_of, unlike
from edgemem.see.likeness import Background, Model, novel, probability, spread
from edgemem.see.perceive import CROP, Part
from edgemem.see.taught import FEW, LESSON, NEAR_US, SIGHTING, TaughtThings
from edgemem.see.teaching import SHOWN, SpokenLessons, keep_picture, look_again, spoken_name, teach, unteach, wanted_name

T0_US = 1_777_881_600 * US
DIM = 256
SPACE = Space(name="crops", dim=DIM)
TILES = (Box(0.0, 0.25, 0.5, 0.75), Box(0.25, 0.25, 0.75, 0.75), Box(0.5, 0.25, 1.0, 0.75))


def vector(name: str, noise: float = 0.25, seed: int = 0) -> np.ndarray:
    """A unit vector of a thing or place as a picture gives it: all have something in common, and no two are quite the same."""
    own = np.random.default_rng(sum(map(ord, name)) * 1000 + 7).normal(size=DIM)
    common = np.random.default_rng(1).normal(size=DIM)
    row = 1.5 * common / np.linalg.norm(common) + own / np.linalg.norm(own)
    row += noise * np.random.default_rng(seed).normal(size=DIM) / np.sqrt(DIM)
    return (row / np.linalg.norm(row)).astype(np.float32)


def pattern(seed: int, side: int = 160) -> np.ndarray:
    """A card full of shapes: no two seeds are alike."""
    rng = np.random.default_rng(seed)
    image = np.full((side, side, 3), rng.integers(60, 200, 3), np.uint8)
    for _ in range(40):
        centre, size = tuple(int(v) for v in rng.integers(0, side, 2)), int(rng.integers(4, 22))
        colour = tuple(int(v) for v in rng.integers(0, 256, 3))
        cv2.rectangle(image, centre, (centre[0] + size, centre[1] + size), colour, -1)
        cv2.circle(image, centre, size // 2, colour[::-1], -1)
    return image


def picture(place: int, card: int | None = None, *, side: int = 160, at: tuple[int, int] = (120, 70)) -> np.ndarray:
    """A place, with a card in it or not."""
    image = cv2.resize(pattern(1000 + place, 60), (480, 320), interpolation=cv2.INTER_CUBIC)
    if card is not None:
        image[at[1] : at[1] + side, at[0] : at[0] + side] = cv2.resize(pattern(card), (side, side), interpolation=cv2.INTER_AREA)
    return image


class World:
    """A memory that is written moment by moment, each with the vectors of its crops."""

    def __init__(self, store: Store, stream: str = "walk") -> None:
        self.store, self.stream, self.things = store, stream, TaughtThings(store, SPACE.name)
        store.ensure_space(SPACE, holds="part")
        self.seq = 0

    def see(self, second: float, names: tuple[str, ...], image: np.ndarray | None = None, *, crops: bool = True) -> int:
        """A moment whose crops show these things."""
        self.seq += 1
        t_us, jpeg = T0_US + int(second * US), pixels.encode_jpeg(picture(self.seq) if image is None else image, 90)
        rows = [vector(name, seed=31 * self.seq + i) for i, name in enumerate(names)]
        parts = [Part(kind=CROP, score=1.0, box=b, vectors={SPACE.name: r}) for b, r in zip(TILES, rows, strict=False)]
        with self.store.transaction() as tx:
            new = NewMoment(
                stream=self.stream, seq=self.seq, t_us=t_us, offset_us=int(second * US), width_px=480, height_px=320, sharpness=9.0,
                jpeg=jpeg, vectors={},
            )  # fmt: skip
            moment_id = tx.add_moment(new)
            for part in parts if crops else ():
                tx.add_part(NewPart(kind=part.kind, score=1.0, moment_id=moment_id, box=part.box, vectors=part.vectors))
            moment = Moment(
                id=moment_id, stream=self.stream, seq=self.seq, t_us=t_us, offset_us=new.offset_us, width_px=480, height_px=320,
                sharpness=9.0, tier="recent",
            )  # fmt: skip
            self.things.arrived(tx, moment, jpeg, parts if crops else ())
        return moment_id

    def background(self, count: int, start_s: float = 1000.0) -> list[int]:
        return [self.see(start_s + 20 * i, (f"a{i}", f"b{i}", f"c{i}")) for i in range(count)]

    def lesson(self, second: float = 100.0, thing: str = "keys", card: int = 1) -> int:
        """The thing at a place that is seen 8 s before and after without it."""
        self.see(second - 8, ("desk", "wall", "floor"), picture(1))
        shown = self.see(second, ("desk", thing, "floor"), picture(1, card))
        self.see(second + 8, ("desk", "wall", "floor"), picture(1))
        return shown

    def teach(self, moment_id: int, name: str = "my keys", **options: object) -> int:
        """The id of the thing."""
        taught = teach(self.store, self.things, moment_id, name, T0_US + 10_000 * US, **options)
        self.things.note(taught.entity.id)
        return taught.entity.id

    def seen(self, name: str = "keys") -> dict[int, float]:
        with self.store.view() as view:
            found = {entity.id for entity in view.entities(name=name)}
            return {part.moment_id: part.score for key in found for part in view.parts(entity_id=key, kind=SIGHTING)}


class Eyes:
    """An engine that sees what it is told to: names of things by their boxes."""

    crop_space = SPACE

    def __init__(self, *seen: tuple[Box, str]) -> None:
        self._seen = seen
        self.asked: list[int] = []

    def look(self, image):
        return ImageAnalysis(vector=vector("whole"), crops=self.crops(image))

    def crops(self, image, boxes=()):
        assert image.shape[2] == 3
        self.asked.append(len(boxes))
        named = [(box, self._seen[0][1]) for box in boxes] or self._seen
        return tuple(Crop(box=box, vector=vector(name, seed=i)) for i, (box, name) in enumerate(named))


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "memory") as opened:
        yield opened


@pytest.fixture
def world(store):
    return World(store)


# ------------------------------------------------------------------------------------------------------------------ likeness


def test_what_the_place_shows_without_the_thing_does_not_stand_for_it():
    crops = np.stack([vector(name, seed=i) for i, name in enumerate(("desk", "wall", "keys", "lamp"))])
    place = np.stack([vector(name, seed=9 + i) for i, name in enumerate(("desk", "wall"))])
    mean = np.mean([vector(str(i)) for i in range(50)], axis=0).astype(np.float32)
    assert set(novel(crops, place, mean, 2)) == {2, 3}
    assert novel(crops, place[:0], mean, 2) == [0, 1]


def test_likeness_is_counted_from_what_is_usual_and_less_what_is_like_the_place():
    background = Background(np.stack([vector(f"x{i}") for i in range(200)]), np.arange(200) // 2)
    assert background.moments == 100
    model = Model.of(vector("keys")[None], vector("desk")[None], background)
    usual = model.likeness(background.crops).reshape(100, 2).max(axis=1)
    assert np.mean(usual < 0) == pytest.approx(likeness.USUAL, abs=0.02)
    keys, desk, other = model.likeness(np.stack([vector("keys", seed=5), vector("desk", seed=6), vector("lamp", seed=7)]))
    assert keys > 0.5
    assert desk < -0.3 < other < 0.3
    alone = Model.of(vector("keys")[None], vector("desk")[:0].reshape(0, DIM), background)
    assert alone.likeness(vector("desk", seed=6)[None])[0] > desk + 0.2


def test_few_points_prove_nothing_and_many_no_more_than_enough():
    assert probability(0.3, 0) == pytest.approx(0.5)
    assert probability(0.1, 4) == probability(0.1, 0) < 0.1
    assert probability(0.0, 5) == pytest.approx(0.5)
    assert probability(0.0, 15) == probability(0.0, 90) > 0.99


def test_the_vectors_that_are_kept_of_a_place_are_far_from_each_other():
    rows = np.stack([vector(name, seed=i) for i, name in enumerate(("desk",) * 5 + ("wall",) * 5 + ("lamp",))])
    assert {i // 5 for i in spread(rows, 3)} == {0, 1, 2}
    assert spread(rows, 99)
    assert len(spread(rows, 99)) == 11
    assert spread(rows[:0], 3) == []


def test_points_prove_a_card_that_is_turned_smaller_and_elsewhere_and_no_other():
    moved = np.roll(picture(1), (3, -4), axis=(0, 1))
    shown = unlike(picture(1, 1), points_of(picture(1, 1)), moved, points_of(moved))
    assert len(shown.rows) > 20
    turned = cv2.rotate(picture(7, 1, side=90, at=(300, 180)), cv2.ROTATE_90_CLOCKWISE)
    assert inliers(shown, points_of(turned)) >= 10
    assert inliers(shown, points_of(picture(7, 2, side=90, at=(300, 180)))) < likeness.LEAST_INLIERS
    assert inliers(shown, points_of(picture(1))) < likeness.LEAST_INLIERS
    assert inliers(shown, points_of(np.full((100, 100, 3), 90, np.uint8))) == 0
    card = points_of(picture(1, 1)).within([Box(120 / 480, 70 / 320, 280 / 480, 230 / 320)], 480, 320)
    assert 20 < len(card.rows) < len(points_of(picture(1, 1)).rows)
    inside = (shown.places > (110, 60)) & (shown.places < (290, 240))
    assert inside.all(), "nothing of the place is left"


# -------------------------------------------------------------------------------------------------------------- found again


def test_a_thing_is_found_in_what_is_stored_and_in_what_comes(world):
    lesson = world.lesson()
    world.background(FEW + 20)
    before = world.see(3000, ("street", "keys", "sky"))
    world.teach(lesson)
    assert set(world.seen()) == {before}
    after = world.see(4000, ("keys", "grass", "tree"))
    other = world.see(4100, ("grass", "tree", "lamp"))
    assert set(world.seen()) == {before, after}
    assert other not in world.seen()
    assert min(world.seen().values()) > 0.9
    with world.store.view() as view:
        (box,) = {part.box for part in view.parts(moment_id=after, kind=SIGHTING)}
        assert box.x0 == pytest.approx(TILES[0].x0, abs=1e-4)
        assert view.moment(lesson).pinned
    assert check_memory(world.store.directory) == []


def test_in_a_memory_of_few_moments_only_points_prove_a_thing(world):
    lesson = world.lesson()
    world.teach(lesson)
    alike = world.see(300, ("street", "keys", "sky"))
    same = world.see(400, ("street", "keys", "sky"), picture(7, 1, side=90, at=(300, 180)))
    assert alike not in world.seen()
    assert same in world.seen()


def test_points_prove_a_thing_whose_crop_is_hardly_like_it(world):
    lesson = world.lesson()
    world.background(FEW + 5)
    hardly = tuple(np.float32(0.62) * vector("keys", 0.0) + np.float32(0.8) * vector("x", 0.0))
    assert len(hardly) == DIM
    shown = world.see(3000, ("half", "sky", "tree"), picture(7, 1, side=120, at=(300, 100)))
    with world.store.transaction() as tx:
        tx.add_part(NewPart(kind=CROP, score=1.0, moment_id=shown, box=TILES[0], vectors={SPACE.name: _unit(hardly)}))
    unproved = world.see(3100, ("half", "sky", "tree"))
    with world.store.transaction() as tx:
        tx.add_part(NewPart(kind=CROP, score=1.0, moment_id=unproved, box=TILES[0], vectors={SPACE.name: _unit(hardly)}))
    world.teach(lesson)
    assert shown in world.seen()


def _unit(row: object) -> np.ndarray:
    values = np.asarray(row, np.float32)
    return values / np.linalg.norm(values)


def test_moments_of_the_lesson_itself_are_no_sightings(world):
    lesson = world.lesson()
    near = world.see(100 + NEAR_US / US - 1, ("desk", "keys", "floor"), picture(1, 1))
    world.background(FEW + 5)
    world.teach(lesson)
    assert near not in world.seen()
    again = world.see(100 + NEAR_US / US - 2, ("desk", "keys", "floor"), picture(1, 1))
    assert again not in world.seen()


def test_at_the_place_of_the_lesson_only_points_of_the_thing_prove_it(world):
    lesson = world.lesson()
    world.background(FEW + 5)
    alike = world.see(3000, ("desk", "keys", "floor"), picture(1))
    there = world.see(3100, ("desk", "keys", "floor"), picture(1, 1, side=130, at=(10, 150)))
    elsewhere = world.see(3200, ("sky", "keys", "floor"), picture(9))
    world.teach(lesson)
    assert set(world.seen()) == {there, elsewhere}
    assert world.see(4000, ("desk", "keys", "floor"), np.roll(picture(1), 5, axis=1)) not in world.seen()
    assert alike not in world.seen()


def test_a_box_says_what_is_meant(world):
    """Two new things are in view; the box tells which is meant. Its engine gives the vector of what the box shows."""

    eyes = Eyes((TILES[0], "cup"))
    world.see(92, ("desk", "wall", "floor"))
    lesson = world.see(100, ("cup", "keys", "floor"))
    world.see(108, ("desk", "wall", "floor"))
    world.background(FEW + 5)
    cup, keys = world.see(3000, ("cup", "sky", "tree")), world.see(3100, ("keys", "sky", "tree"))
    world.teach(lesson, "my cup", box=Box(0.1, 0.2, 0.3, 0.5), joint=lambda: eyes)
    assert eyes.asked == [3]
    assert set(world.seen("cup")) == {cup}
    with world.store.view() as view:
        boxes = [part.box for part in view.parts(moment_id=lesson, kind=LESSON)]
    assert sorted(round(box.x1 - box.x0, 2) for box in boxes) == [0.2, 0.26, 0.34]
    assert keys not in world.seen("cup")


def test_moments_that_were_kept_without_crops_are_looked_at_later(world):
    eyes = Eyes((TILES[0], "keys"))
    lesson = world.lesson()
    world.background(FEW + 5)
    late = world.see(5000, (), crops=False)
    world.teach(lesson)
    assert late not in world.seen()
    told: list[int] = []
    assert look_again(world.store, eyes, world.things, 0.0, told.append) is True
    assert not told
    assert look_again(world.store, eyes, world.things, 1e12, told.append) is False
    assert told == [1]
    world.things.note(world.things.lessons()[0].entity.id)
    assert late in world.seen()


# --------------------------------------------------------------------------------------------------- taken back, forgotten, moved


def test_a_lesson_that_is_taken_back_leaves_nothing_behind(world):
    lesson = world.lesson()
    world.background(FEW + 5)
    found = world.see(3000, ("keys", "sky", "tree"))
    thing = world.teach(lesson)
    assert set(world.seen()) == {found}
    assert unteach(world.store, moment_id=lesson) == "keys"
    with world.store.view() as view:
        assert view.entity(thing) is None
        assert {part.kind for part in view.parts()} == {CROP}
        assert not view.moment(lesson).pinned
    assert world.see(4000, ("keys", "sky", "tree")) not in world.seen()
    with pytest.raises(UsageError, match="nothing to take back"):
        unteach(world.store, moment_id=lesson)
    with pytest.raises(UsageError, match='"keys" was not taught'):
        unteach(world.store, name="my keys")


def test_of_two_lessons_the_other_stays(world):
    first, second = world.lesson(100, "keys", 1), world.lesson(200, "spare keys", 2)
    world.background(FEW + 5)
    one, two = world.see(3000, ("keys", "sky", "tree")), world.see(3100, ("spare keys", "sky", "tree"))
    thing = world.teach(first)
    assert world.teach(second) == thing
    assert set(world.seen()) >= {one, two}
    unteach(world.store, moment_id=second)
    world.things.note(thing)
    assert one in world.seen()
    assert two not in world.seen()
    unteach(world.store, name="keys")
    assert world.seen() == {}


def test_taking_a_lesson_back_keeps_what_else_is_known_by_that_name(world):
    lesson = world.lesson()
    thing = world.teach(lesson)
    with world.store.transaction() as tx:
        told = tx.add_document(
            NewDocument(kind="event", text="keys", stream="walk", t0_us=T0_US, t1_us=T0_US, offset_us=0, known_us=T0_US, origin="caption")
        )
        tx.add_mention(NewMention(entity_id=thing, document_id=told, known_us=T0_US))
    unteach(world.store, moment_id=lesson)
    with world.store.view() as view:
        assert view.entity(thing).name == "keys"


def test_a_thing_is_forgotten_by_either_of_its_names_with_all_that_shows_it(world):
    lesson = world.lesson()
    world.background(FEW + 5)
    found, other = world.see(3000, ("keys", "sky", "tree")), world.see(3100, ("grass", "sky", "tree"))
    world.teach(lesson)
    directory = world.store.directory
    world.store.close()
    receipt = forget(directory, Wanted(entity="my keys"))
    assert receipt.moments == 2
    with Store.open(directory) as store, store.view() as view:
        assert view.moment(lesson) is None
        assert view.moment(found) is None
        assert view.moment(other) is not None
        assert view.entities(name="keys") == []
        assert TaughtThings(store, SPACE.name).lessons() == []
    files = b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())
    assert b"my keys" not in files


def test_a_thing_goes_along_into_another_memory_and_is_found_there(world, tmp_path):
    lesson = world.lesson()
    world.background(FEW + 5)
    world.see(3000, ("keys", "sky", "tree"))
    world.teach(lesson)
    export(world.store.directory, tmp_path / "out")
    import_into(tmp_path / "other", tmp_path / "out")
    with Store.open(tmp_path / "other") as store:
        there = World(store, "later")
        there.seq = 500  # other places than there were
        assert len(there.seen()) == 1
        new = there.see(9000, ("sky", "keys", "tree"))
        assert new in there.seen()


def test_a_picture_that_was_given_stands_for_a_thing_and_is_no_sighting(world):
    whole, middle = Box(0.0, 0.0, 1.0, 1.0), Box(0.2, 0.0, 0.8, 1.0)
    eyes = Eyes((TILES[0], "a0"), (whole, "keys"), (middle, "keys"), (TILES[2], "b1"), (TILES[1], "keys"))
    world.background(FEW + 5)
    found = world.see(3000, ("keys", "sky", "tree"))
    given = keep_picture(world.store, cv2.copyMakeBorder(pattern(1), 40, 40, 60, 60, cv2.BORDER_CONSTANT), T0_US + 9000 * US)
    with pytest.raises(UsageError, match="no crops to learn from"):
        teach(world.store, world.things, given, "my keys", T0_US)
    world.teach(given, joint=lambda: eyes)
    assert found in world.seen()
    with world.store.view() as view:
        assert view.moment(given).stream == SHOWN
        hits = taught_hits(Query(text="my keys"), view, 5)
        assert [one.id for one in hits.evidence] == [f"m{found}"]
        far = taught_hits(Query(text="keys", from_us=T0_US + 8000 * US), view, 5)
    assert far.evidence == ()  # not even the picture that was given
    unteach(world.store, moment_id=given)
    with world.store.view() as view:
        assert view.moment(given) is None


# ----------------------------------------------------------------------------------------------------------------- answering


def test_a_query_that_names_a_taught_thing_finds_it_and_nothing_else(world):
    lesson = world.lesson()
    world.background(FEW + 5)
    world.teach(lesson, "my grey charger")
    with world.store.view() as view:
        hits = taught_hits(Query(text="the grey charger"), view, 5)
        assert [one.id for one in hits.evidence] == [f"m{lesson}"]
        assert hits.taught == "the grey charger you showed me"
        assert taught_hits(Query(text="charger"), view, 5) is None
        early = world.store.view(T0_US + 9_000 * US)
        with early:
            assert taught_hits(Query(text="grey charger"), early, 5) is None, "it had no name then"
    found = world.see(20_000, ("keys", "sky", "tree"))
    with world.store.view() as view:
        hits = taught_hits(Query(text="my grey charger"), view, 5)
        assert [one.id for one in hits.evidence] == [f"m{found}"]
        assert hits.taught == "what looks like the grey charger you showed me"
        assert hits.evidence[0].text == "looks like the grey charger you showed me"
        assert hits.confidence == hits.evidence[0].score > 0.5
        assert taught_hits(Query(text="grey charger", to_us=T0_US + 10_000 * US), view, 5).evidence[0].id == f"m{lesson}"


# ------------------------------------------------------------------------------------------------------------------- by voice


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("This is my mug.", "mug"),
        ("Look, these are my keys, don't lose them", "keys"),
        ("so this is my grey charger and that is the cable", "grey charger"),
        ("Here is her medicine", "medicine"),
        ("This is my sister.", ""),
        ("this is my sister's umbrella", "sister's umbrella"),
        ("this is my favourite song", ""),
        ("I think this is a mug", ""),
        ("Is this my mug?", ""),
        ("this is my big old red woollen hat", ""),
        ("this is my sister Anna", ""),
    ],
)
def test_what_is_said_to_be_in_view(said, name):
    assert spoken_name(said) == name


def test_said_while_it_is_in_view_does_the_same_as_naming_the_moment(world):
    lesson = world.lesson()
    world.background(FEW + 5)
    found = world.see(3000, ("keys", "sky", "tree"))
    lessons = SpokenLessons(world.store, world.things, "walk")
    with world.store.transaction() as tx:
        said_us = T0_US + 101 * US
        spoken = tx.add_document(
            NewDocument(
                kind="utterance", text="This is my key ring.", stream="walk", t0_us=said_us, t1_us=said_us + US, offset_us=0,
                known_us=said_us + US, origin="asr",
            )
        )  # fmt: skip
    with world.store.view() as view:
        (heard,) = view.spoken([spoken])
    lessons.heard(heard)
    lessons.seen(said_us + 5 * US)
    assert lessons.learn(ending=False) == [], "the moments after it are not there yet"
    lessons.seen(said_us + 20 * US)
    (taught,) = lessons.learn(ending=False)
    assert (taught.entity.name, taught.moment_id) == ("key ring", lesson)
    assert set(world.seen("my key ring")) == {found}
    assert lessons.learn(ending=True) == []
    with world.store.view(T0_US + 200 * US) as view:
        assert view.entities(name="key ring"), "known since it was said"


def test_a_name_is_of_a_thing():
    assert bare_name("  My  grey charger ") == "grey charger"
    assert bare_name("mum's ring") == "ring"
    for name in ("my ", "?", "x" * 101, "speaker 3"):
        with pytest.raises(UsageError):
            wanted_name(name)
