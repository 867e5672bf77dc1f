"""The channels: pictures by labels and by vectors, things that were taught, text in a large memory, what was said, relations."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgemem.answer.retrieve import Hits, Query
from edgemem.answer.retrievers import frames, match, readings
from edgemem.answer.retrievers.frames import LESSON, SIGHTING, FrameRetriever, LabelMatcher, VectorMatcher, _likely, taught_hits
from edgemem.answer.retrievers.match import Features, Ranked
from edgemem.answer.retrievers.people import EntityRetriever, SpeechRetriever
from edgemem.answer.retrievers.readings import TextRetriever
from edgemem.infer.phrase import LabelQuery
from edgemem.infer.roles import Space
from edgemem.records import US, Observation, Quote
from edgemem.remember.disk import keys
from edgemem.remember.entries import NewDocument, NewEntity, NewMoment, NewPart, NewRelation
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US, jpeg, label, remember, text
from tests.answer.test_match import CUP, posting

# --------------------------------------------------------------------------------------------------------------- pictures by labels


class Words:
    """Names cups by the labels "cup" and "mug", nothing else; counts how often it is asked."""

    def __init__(self, crop_space: Space | None = None, **more: Any) -> None:
        self.asked: list[str] = []
        self.crop_space = crop_space
        self._more = more

    def match_labels(self, query: str) -> LabelQuery:
        self.asked.append(query)
        if "cup" not in query:
            return LabelQuery(labels={}, objects={})
        return LabelQuery(labels={"cup": 0.8, "mug": 0.4, "vase": 0.01}, objects={"cup": 0.5}, likeness=1.0, **self._more)


def thing(name: str, score: float) -> Observation:
    return Observation(kind="object", name=name, score=score)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    seen = {
        0: (label("sofa"),), 100: (label("cup", 0.9, "red"),), 104: (label("cup", 0.6), label("mug", 0.5)),
        300: (label("mug", 0.7, "blue"),),
        600: (label("cup", 0.3),),
    }  # fmt: skip
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("walk", START_US)
        remember(store, "walk", START_US, seen)
    return tmp_path / "memory"


def oracle(
    view: View, query: LabelQuery, moments: int, *, from_us: int = 0, to_us: int = 2**60, beside: bool = True
) -> tuple[float, float]:
    """Confidence in the whole memory and in the stretch, by the functions of `match` themselves on all postings."""
    postings = view.postings([*query.labels, *query.objects], kinds=("label", "object"))
    ranked = match.score_moments(query, postings, moments)
    inside = [one for one in postings if from_us <= one.t_us <= to_us]
    there = [one for one in ranked if from_us <= one.t_us <= to_us]
    return (
        match.confidence(match.features(query, postings, ranked, beside=True)),
        match.confidence(match.features(query, inside, there, beside=beside)) if there else 0.0,
    )


def test_pictures_are_ranked_by_their_labels_and_as_sure_as_the_best(table: Path) -> None:
    words = Words()
    matcher = LabelMatcher(words)
    with View.open(table) as view:
        hits = matcher.match(Query(text="a cup"), view, 4)
        sure, _ = oracle(view, words.match_labels("a cup"), 5)
        assert [one.offset_us // US for one in hits.evidence] == [104, 300, 600, 100], "one of every appearance first"
        assert (hits.evidence[0].score, hits.evidence[0].text) == (pytest.approx(sure), "cup")
        assert (hits.confidence, hits.firing) == (pytest.approx(sure), 0.8)
        assert all(one.score < sure for one in hits.evidence[1:])
        matcher.match(Query(text="a cup"), view, 4)
        assert words.asked.count("a cup") == 2, "once by the matcher, once by the test"
        assert LabelMatcher(Words()).match(Query(text="a giraffe"), view, 4) == Hits(firing=0.0)


def test_the_labels_of_a_thousand_phrases_are_kept() -> None:
    words = Words()
    matcher = LabelMatcher(words)
    for number in (*range(1000), 0, 1000, 0, 1):
        matcher._labels(f"cup {number}")
    assert (len(words.asked), words.asked.count("cup 0"), words.asked.count("cup 1")) == (1002, 1, 2), "the one used longest ago goes"


def test_a_stretch_is_judged_by_what_was_seen_in_it(table: Path) -> None:
    words = Words()
    query = words.match_labels("cup")
    with View.open(table) as view:
        start, end = START_US + 200 * US, START_US + 400 * US
        hits = LabelMatcher(words).match(Query(text="cup", from_us=start, to_us=end), view, 4)
        whole, there = oracle(view, query, 5, from_us=start, to_us=end, beside=False)
        assert [one.offset_us // US for one in hits.evidence] == [300]
        assert hits.confidence == pytest.approx(there)
        assert hits.evidence[0].score < whole, "its share of the best score anywhere"
        nothing = LabelMatcher(words).match(Query(text="cup", from_us=START_US + 700 * US), view, 4)
        assert (nothing.evidence, nothing.confidence, nothing.firing) == ((), 0.0, 0.8)
        start = START_US + 100 * US
        pair = LabelMatcher(words).match(Query(text="cup", from_us=start, to_us=start + 4 * US), view, 4)
        assert pair.confidence == pytest.approx(oracle(view, query, 5, from_us=start, to_us=start + 4 * US)[1])


CROPS = Space(name="crops", dim=2)


def crops_of(store: Store, moment_id: int, *degrees: float) -> None:
    with store.transaction() as tx:
        for angle in degrees:
            vector = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))], np.float32)
            tx.add_part(NewPart(kind="crop", score=1.0, moment_id=moment_id, vectors={CROPS.name: vector}))


def test_crops_that_are_like_the_prototype_speak_for_the_thing(table: Path) -> None:
    """Two looks, at 0 and 90 degrees (60 is too near to 90), and 20 of nothing: along 0 degrees a crop usually reaches 1/22."""
    with Store.open(table) as store:
        store.ensure_space(CROPS, holds="part")
        for moment_id, degrees in (
            (2, (0, 0)),
            (3, (0,)),
            (4, (90, 60, 60)),
        ):
            crops_of(store, moment_id, *degrees)
    right = np.array([1.0, 0.0], np.float32)
    words = Words(CROPS, prototype=right)
    with View.open(table) as view:
        matcher = LabelMatcher(words)
        found, first = matcher.judge(Query(text="cup"), view)
        assert first == START_US + 104 * US
        assert found.alike == pytest.approx((1 + 1 + 1 + 0.5) / 4 - 1 / 22 - 0.0735, abs=1e-3)
        there, _ = matcher.judge(Query(text="cup", from_us=START_US + 200 * US), view)
        assert there.alike == pytest.approx((0.5 + 0.5 + 0.0) / 3 - 1 / 22 - 0.0532, abs=1e-3), "the nearest of that time, of two moments"
        assert matcher.match(Query(text="cup"), view, 4).confidence == pytest.approx(match.confidence(found))
        assert matcher.judge(Query(text="giraffe"), view) == (Features(), None)
        late = Query(text="cup", from_us=START_US + 500 * US)
        assert matcher.judge(late, view)[0].alike is None, "no crop was kept of that time"
        assert LabelMatcher(Words(CROPS)).judge(Query(text="cup"), view)[0].alike is None
        assert LabelMatcher(Words(prototype=right)).judge(Query(text="cup"), view)[0].alike is None
    with Store.open(table) as store:
        remember(store, "walk", START_US, {900: (label("cup", 0.2),)})
        crops_of(store, 6, 0, 0, 270)
    with View.open(table) as view:
        assert matcher.judge(Query(text="cup"), view)[0].alike == pytest.approx(1 - 1 / 23 - 0.0782, abs=1e-3), "the memory has grown"


def test_pictures_that_look_like_the_best_one_show_the_same_thing(table: Path) -> None:
    """The best is m3, and of its crops that at 10 degrees is the thing: it is most like the prototype."""
    with Store.open(table) as store:
        store.ensure_space(CROPS, holds="part")
        crops_of(store, 3, 80, 10)
        crops_of(store, 4, 200, 70)
        crops_of(store, 2, 100)
    words = Words(CROPS, prototype=np.array([1.0, 0.0], np.float32))
    with View.open(table) as view:
        hits = LabelMatcher(words).match(Query(text="cup"), view, 4)
        shares = {one.id: one.score / hits.confidence for one in hits.evidence}
        assert set(hits.same) == {"m2", "m3", "m4"}, "of m5 no crops were kept"
        assert hits.same["m3"] == pytest.approx(1.0, abs=1e-3)
        assert hits.same["m4"] == pytest.approx(0.2 * shares["m4"] + 0.8 * (0.5 - 0.15) / 0.85, abs=1e-3), "60 degrees away"
        assert hits.same["m2"] == pytest.approx(shares["m2"]), "90 degrees away, but as sure by its labels as the best"
        assert LabelMatcher(Words(CROPS)).match(Query(text="cup"), view, 4).same == {}
        assert LabelMatcher(Words(prototype=np.array([1.0, 0.0], np.float32))).match(Query(text="cup"), view, 4).same == {}
        late = LabelMatcher(words).match(Query(text="cup", from_us=START_US + 500 * US), view, 4)
        assert (late.same, len(late.evidence)) == ({}, 1), "the best of that time has no crops"


def test_only_what_labels_rank_first_is_compared_by_its_looks(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_COMPARED", 2)
    with Store.open(table) as store:
        store.ensure_space(CROPS, holds="part")
        for moment_id in (2, 3, 4, 5):
            crops_of(store, moment_id, 0)
    with View.open(table) as view:
        hits = LabelMatcher(Words(CROPS, prototype=np.array([1.0, 0.0], np.float32))).match(Query(text="cup"), view, 4)
        best = sorted(hits.evidence, key=lambda one: -one.score)
        assert set(hits.same) == {one.id for one in best[:2]}


def test_crops_of_a_large_encrypted_memory_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = Words(CROPS, prototype=np.array([1.0, 0.0], np.float32))
    for name, key in (("open", None), ("closed", keys.Key("ab" * 32, "the test's key"))):
        with keys.using(key):
            with Store.open(tmp_path / name) as store:
                store.ensure_stream("walk", START_US)
                store.ensure_space(CROPS, holds="part")
                remember(store, "walk", START_US, {0: (label("cup"),), 100: (label("cup"),)})
                crops_of(store, 1, 0)
            for most, read in ((2, True), (1, key is None)):
                monkeypatch.setattr(frames, "_UNMAPPED", most)
                with View.open(tmp_path / name) as view:
                    assert (LabelMatcher(words).judge(Query(text="cup"), view)[0].alike is not None) is read


def test_the_colour_that_was_asked_for_is_named(table: Path) -> None:
    with View.open(table) as view:
        red = LabelMatcher(Words(colours=("red",))).match(Query(text="red cup"), view, 1)
        assert red.evidence[0].text == "red cup"
        assert LabelMatcher(Words()).match(Query(text="cup"), view, 1).evidence[0].text == "cup"


def test_in_a_large_memory_only_the_stretch_and_the_likeliest_names_are_searched(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_WHOLE", 4)
    with View.open(table) as view:
        start, end = START_US + 200 * US, START_US + 400 * US
        words = Words()
        hits = LabelMatcher(words).match(Query(text="cup", from_us=start, to_us=end), view, 4)
        postings = view.postings(["cup", "mug"], kinds=("label", "object"), from_us=start, to_us=end)
        ranked = match.score_moments(words.match_labels("cup"), postings, 5)
        sure = match.confidence(match.features(words.match_labels("cup"), postings, ranked, beside=False))
        assert (hits.confidence, hits.evidence[0].score) == (pytest.approx(sure), pytest.approx(sure))
        assert frames._moments(view) == 5
        monkeypatch.setattr(frames, "_WHOLE", 2)
        assert frames._moments(view) == 5, "the number of the newest picture"
    with Store.open(table) as store:
        remember(store, "walk", START_US, {900: (label("sofa"),)})
        with store.transaction() as tx:
            tx.connection.execute("DELETE FROM moment WHERE id = 2")
    with View.open(table) as view:
        assert frames._moments(view) == 6, "how many there have been"
        monkeypatch.setattr(frames, "_WHOLE", 3)
        assert frames._moments(view) == 5, "how many there are"


@pytest.mark.parametrize(("most", "seconds"), [(2, [0, 100]), (1, [0])])
def test_names_that_are_hardly_meant_are_searched_up_to_so_many_moments(
    most: int, seconds: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "vase" is an eightieth as likely as "cup"."""
    monkeypatch.setattr(frames, "_WHOLE", most)
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {0: (label("cup"),), 100: (label("vase"),)})
    with View.open(tmp_path / "memory") as view:
        hits = LabelMatcher(Words()).match(Query(text="cup"), view, 4)
    assert [one.offset_us // US for one in hits.evidence] == seconds


def test_the_likeliest_names_of_each_kind() -> None:
    query = LabelQuery(labels={"cup": 0.8, "vase": 0.041, "dog": 0.039}, objects={"bowl": 0.1, "cat": 0.001})
    assert _likely(query) == ["cup", "vase", "bowl"], "from a twentieth of the likeliest on"
    assert _likely(LabelQuery(labels={"cup": 1.0, "vase": 0.05}, objects={})) == ["cup", "vase"]
    kinds = {f"cup {n}": 0.5 for n in range(30)}
    assert set(_likely(LabelQuery(labels=kinds, objects={}, kinds=frozenset(kinds)))) == set(kinds), "all kinds of the thing"


def test_of_many_names_fewer_sightings_of_each_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()
    monkeypatch.setattr(View, "postings", lambda *_, limit_per_name, **__: read.append(limit_per_name) or [])
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {0: (label("cup"),)})
    with View.open(tmp_path / "memory") as view:
        for whole, names in ((20_000, 40), (20_000, 400), (0, 20), (0, 400)):
            monkeypatch.setattr(frames, "_WHOLE", whole)
            labels = {f"cup {n}": 0.5 for n in range(names)}
            query = LabelQuery(labels=labels, objects={}, kinds=frozenset(labels))
            LabelMatcher(SimpleNamespace(crop_space=None, match_labels=lambda _, query=query: query)).match(Query(text="cup"), view, 4)
    assert read == [500, 50, 150, 7]


def test_crops_of_a_large_encrypted_memory_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()
    view: Any = SimpleNamespace(encrypted=True, nearest_parts=lambda *_, **__: read.append(moments))
    matcher = LabelMatcher(SimpleNamespace(crop_space=SimpleNamespace(name="crops"), match_labels=lambda _: CUP))  # type: ignore[arg-type]
    wanted = LabelQuery(labels={}, objects={}, prototype=np.ones(2, np.float32))
    for moments in (1500, 1501):
        monkeypatch.setattr(frames, "_moments", lambda _, moments=moments: moments)
        assert matcher._alike(wanted, Query(text="cup"), view) is None
    assert read == [1500]


def test_without_an_engine_pictures_are_not_searched(table: Path) -> None:
    class Away:
        def missing(self, role: str) -> str:
            return f"{role} is not configured"

        def role(self, role: str) -> Any:
            raise AssertionError(role)

    with View.open(table) as view:
        assert FrameRetriever().retrieve(Query(text="cup"), view, 3).silent == "pictures were not searched: no engines are configured"
        assert FrameRetriever(Away()).retrieve(Query(text="cup"), view, 3).silent.endswith("embed_joint is not configured")


# -------------------------------------------------------------------------------------------------------------- pictures by vectors


class Angles:
    """A dual encoder of two dimensions: a text "37" is a vector of 37 degrees; all else lies at 90, 95, 100 ... degrees."""

    space = Space(name="angles", dim=2)

    def embed_text(self, texts: Sequence[str]) -> Any:
        degrees = [float(one) if one.isdigit() else 90 + 5 * n for n, one in enumerate(texts)]
        return np.array([(math.cos(math.radians(d)), math.sin(math.radians(d))) for d in degrees], np.float32)


def test_vectors_are_judged_against_everyday_queries(tmp_path: Path) -> None:
    """The logistic function of how many standard deviations the cosine lies above the mean of the best hits of unrelated queries."""
    angles, kept = Angles(), (0, 20, 60)
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(angles.space)
        for number, degrees in enumerate(kept):
            with store.transaction() as tx:
                tx.add_moment(
                    NewMoment(
                        stream="s", seq=number, t_us=number * US, offset_us=0, width_px=4, height_px=4, sharpness=1.0, jpeg=jpeg(number),
                        vectors={"angles": angles.embed_text([str(degrees)])[0]},
                    )
                )  # fmt: skip
    with View.open(tmp_path / "memory") as view:
        hits = VectorMatcher(angles).match(Query(text="10"), view, 3)  # type: ignore[arg-type]
        everyday = [max(math.cos(math.radians(90 + 5 * n - one)) for one in kept) for n in range(20)]
        mean, spread = statistics.fmean(everyday), statistics.pstdev(everyday)
        expected = [1 / (1 + math.exp(-(math.cos(math.radians(d)) - mean) / spread)) for d in (10, 10, 50)]
        assert [one.score for one in hits.evidence] == pytest.approx(expected, abs=2e-3)
        assert hits.confidence == hits.evidence[0].score
        assert VectorMatcher(angles).match(Query(text="10", from_us=9 * US), view, 3) == Hits()  # type: ignore[arg-type]


class Alike(Angles):
    """Every everyday query has a cosine of .5 with 0 degrees, the query for anything else one of .501."""

    def embed_text(self, texts: Sequence[str]) -> Any:
        cosine = 0.5 if len(texts) > 1 else 0.501
        return np.array([(cosine, (1 - cosine**2) ** 0.5)] * len(texts), np.float32)


def test_everyday_queries_that_reach_all_the_same_still_deviate_by_a_thousandth(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(Alike.space)
        with store.transaction() as tx:
            tx.add_moment(
                NewMoment(
                    stream="s", seq=0, t_us=0, offset_us=0, width_px=4, height_px=4, sharpness=1.0, jpeg=jpeg(0),
                    vectors={"angles": np.array([1.0, 0.0], np.float32)},
                )
            )  # fmt: skip
    with View.open(tmp_path / "memory") as view:
        hits = VectorMatcher(Alike()).match(Query(text="cup"), view, 3)  # type: ignore[arg-type]
    assert hits.confidence == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-3)


# ----------------------------------------------------------------------------------------------------------------- scores by labels


def hand_scores(query: LabelQuery, seen: Sequence[Any], moments: int) -> dict[int, float]:
    """From the docstrings of `match`: sum over the postings of firing^.8 x (z + score), z at least 0, and half its neighbour's."""
    names = {("label", n): f**0.8 for n, f in query.labels.items()} | {("object", n): 0.1 * f**0.8 for n, f in query.objects.items()}
    count, own = max(moments, 1) + 20, {}
    for one in seen:
        key = (one.kind, one.name)
        if key in names:
            scores = [p.score for p in seen if (p.kind, p.name) == key]
            mean = sum(scores) / count
            deviation = math.sqrt(max(0.0, sum(s * s for s in scores) / count - mean**2))
            own.setdefault(one.moment_id, []).append(names[key] * (max(0.0, one.score - mean) / (deviation + 0.03) + one.score))
    sums = {moment: sum(parts) for moment, parts in own.items()}
    near = {m: max((s for n, s in sums.items() if 0 < abs(n - m) < 10), default=0.0) for m in sums}
    return {m: s + 0.5 * near[m] for m, s in sums.items()}


def test_the_scores_of_moments_are_those_of_the_formula() -> None:
    seen = [
        posting(1, "cup", 0.7), posting(2, "coffee mug", 0.4), posting(40, "cup", 0.2), posting(40, "cup", 0.6, "object"),
        posting(60, "vase", 0.9), posting(70, "cup", 0.3), posting(90, "dog", 0.9), posting(200, "coffee mug", 0.9),
    ]  # fmt: skip
    for moments in (0, 1, 100):
        found = {one.moment_id: one.score for one in match.score_moments(CUP, seen, moments)}
        assert found == pytest.approx(hand_scores(CUP, seen, moments))


def test_moments_ten_seconds_apart_are_two_appearances() -> None:
    one, other = match.score_moments(CUP, [posting(1, "cup", 0.5), posting(11, "cup", 0.5)], 9)
    assert one.score == other.score == pytest.approx(hand_scores(CUP, [posting(1, "cup", 0.5), posting(31, "cup", 0.5)], 9)[1])
    spread = match.spread([Ranked(moment_id=n, t_us=n * US, score=1.0 / (1 + n), why="") for n in (0, 9, 10, 30)], 3)
    assert [one.moment_id for one in spread] == [0, 10, 30]
    assert [one.moment_id for one in match.spread([Ranked(moment_id=n, t_us=n * US, score=1.0, why="") for n in (0, 9, 5)], 2)] == [0, 9]


def test_what_tells_a_thing_shown() -> None:
    """The likeliest label, what was seen of it, and the same beside the best moment."""
    seen = [posting(1, "cup", 0.7), posting(4, "coffee mug", 0.8), posting(8, "cup", 0.5), posting(7, "cup", 0.3), posting(60, "cup", 0.9)]
    best = [Ranked(moment_id=n, t_us=n * US, score=1.0 / (1 + k), why="") for k, n in enumerate((4, 1, 8, 7, 60))]
    found = match.features(CUP, seen, best)
    assert found == Features(firing=0.8, support=0.9, again=pytest.approx(0.7), likeness=1.0)
    assert match.features(CUP, seen, []) == Features()
    assert match.features(LabelQuery(labels={}, objects={}), seen, best) == Features()
    assert match.features(CUP, [], best) == Features(firing=0.8, support=0.0, again=0.0, likeness=1.0)
    even = LabelQuery(labels={"cup": 0.05}, objects={"cup": 0.5})
    assert match.features(even, seen, best).firing == 0.05, "ten times likelier is not enough for an object"
    other = LabelQuery(labels={"cup": 0.05, "vase": 0.001}, objects={"cup": 0.5})
    assert match.features(other, seen, best).firing == 0.05, "the likeliest of the labels counts"
    assert match.features(LabelQuery(labels={}, objects={"cup": 0.5}), seen, best).firing == 0.5


# --------------------------------------------------------------------------------------------------------- things that were taught


def test_a_thing_that_was_taught(tmp_path: Path) -> None:
    space = Space(name="crops", dim=2)
    vector = np.array([1.0, 0.0], np.float32)
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(space, holds="part")
        remember(store, "walk", START_US, {n: (label("room"),) for n in (10, 20, 30, 40)})
        remember(store, "shown", START_US, {90: (label("room"),)})
        with store.transaction() as tx:
            keys, pen, cap = (tx.add_entity(NewEntity(kind="object", name=name, known_us=START_US)) for name in ("my keys", "pen", "cap"))
            for kind, score, moment, entity in (
                (LESSON, 1.0, 1, keys), (SIGHTING, 0.4, 2, keys), (SIGHTING, 0.8, 3, keys), (SIGHTING, 0.6, 3, keys),
                (SIGHTING, 0.8, 4, keys),
                (LESSON, 0.3, 2, pen), (LESSON, 1.0, 5, cap),
            ):  # fmt: skip
                tx.add_part(NewPart(kind=kind, score=score, moment_id=moment, vectors={"crops": vector}, entity_id=entity))

    def told(phrase: str, k: int = 9, **stretch: Any) -> Any:
        with View.open(tmp_path / "memory") as view:
            hits = taught_hits(Query(text=phrase, **stretch), view, k)
        return hits and (hits.taught, [(one.offset_us // US, one.score) for one in hits.evidence], hits.confidence)

    seen = [(40, 0.8), (30, 0.8), (20, 0.4)]
    assert told("My keys ") == told("my keys") == ("what looks like the keys you showed me", seen, 0.8)
    assert told("my keys", 2)[1] == seen[:2]
    assert told("my keys", to_us=START_US + 25 * US) == ("what looks like the keys you showed me", [(20, 0.4)], 0.4)
    assert told("my keys", to_us=START_US + 15 * US) == ("the keys you showed me", [(10, 1.0)], 1.0)
    assert told("the pen") == ("the pen you showed me", [(20, 1.0)], 1.0), "not seen again: its lesson"
    assert told("pen", from_us=START_US + 25 * US) == ("the pen you showed me", [], 0.0)
    assert told("cap") == ("the cap you showed me", [], 0.0), "a picture that was given as a file is no sighting"
    assert told("hat") is None
    with View.open(tmp_path / "memory") as view:
        assert FrameRetriever(matcher=LabelMatcher(Words())).retrieve(Query(text="pen"), view, 9).taught == "the pen you showed me"


# ------------------------------------------------------------------------------------------------------------- text, speech, relations


def texts(found: Hits) -> list[str]:
    return [one.text for one in found.evidence]


def test_text_that_holds_half_of_the_letters_is_found(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        seen = {10: (text("abcd"),), 20: (text("abcd wxyz"), text("low"), label("hall")), 30: (text("wxyz abcd"),), 40: (text("other"),)}
        remember(store, "walk", START_US, seen)
        weak = Observation(kind="text", name="faint", score=0.2)
        remember(store, "hall", START_US, {50: (weak, text("faint again"))})
    with View.open(tmp_path / "memory") as view:
        hits = TextRetriever().retrieve(Query(text="abcd wxyz"), view, 9)
        assert [(one.offset_us // US, one.score) for one in hits.evidence] == [(20, 1.0), (30, 1.0), (10, 0.5)]
        assert hits.confidence == 1.0
        assert texts(TextRetriever().retrieve(Query(text="abcd wxyz"), view, 1)) == ["abcd wxyz low"]
        assert TextRetriever().retrieve(Query(text="abcd kkkkk"), view, 9) == Hits()
        faint = TextRetriever().retrieve(Query(text="faint"), view, 9).evidence[0]
        assert (faint.text, [one.evidence.score for one in readings.readings(view, Query(text="", from_us=START_US + 45 * US))]) == (
            "faint faint again",
            [0.95],
        )


def test_in_a_memory_with_many_lines_full_text_says_where_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "_LINES_LIMIT", 4)
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {n: (text(f"GATE {n}"),) for n in range(1, 5)})
    with View.open(tmp_path / "memory") as view:
        for asked in ("", "gate"):
            assert len(readings.readings(view, Query(text=asked))) == 4, "so many lines are still compared one by one"
    with Store.open(tmp_path / "memory") as store:
        remember(store, "hall", START_US, {n: (text(f"ROOM {n}"),) for n in range(60, 130)})
        with store.transaction() as tx:
            for moment in range(1, 75):
                second = moment if moment < 5 else moment + 55
                words = f"GATE {second}" if moment < 5 else f"ROOM {second}"
                t_us = START_US + second * US
                tx.add_document(
                    NewDocument(
                        kind="text", text=words, stream="walk" if moment < 5 else "hall", t0_us=t_us, t1_us=t_us, offset_us=second * US,
                        known_us=t_us, origin="ocr", moment_id=moment,
                    )
                )  # fmt: skip
    with View.open(tmp_path / "memory") as view:
        assert [one.text for one in readings.readings(view, Query(text="gate"))] == ["GATE 1", "GATE 2", "GATE 3", "GATE 4"]
        newest = readings.readings(view, Query(text=""))
        assert [one.text for one in newest] == [f"ROOM {n}" for n in range(70, 130)], "the newest sixty, oldest first"
        assert texts(TextRetriever().retrieve(Query(text="room 99"), view, 9))[:1] == ["ROOM 99"]


def test_one_line_that_is_read_very_often_is_looked_up_fifty_times(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        remember(store, "walk", START_US, {n: (text("EXIT"),) for n in range(60)})
    with View.open(tmp_path / "memory") as view:
        assert len(readings.readings(view, Query(text=""))) == 50


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "memory") as store, store.transaction() as tx:
        ids = {name: tx.add_entity(NewEntity(kind=kind, name=name, known_us=START_US)) for kind, name in (
            ("person", "Ben Miles"), ("person", "Ann"), ("voice", "speaker 3"), ("object", "saw"), ("object", "hammer drill"),
        )}  # fmt: skip
        for n, (who, words) in enumerate(
            (("Ben Miles", "The saw is blunt."), ("Ann", "The saw is here."), ("speaker 3", "A blunt old saw."))
        ):
            span = {"stream": "days", "t0_us": START_US + n * US, "t1_us": START_US + n * US, "known_us": START_US + n * US}
            said = tx.add_document(NewDocument(kind="utterance", text=words, offset_us=n, origin="asr", speaker_id=ids[who], **span))
            quotes = (Quote(text=words, origin="asr", document_id=said),)
            tx.add_relation(
                NewRelation(type="USES", source_id=ids[who], target_id=ids["saw"], confidence=0.5 + n / 10, quotes=quotes, **span)
            )
    return tmp_path / "memory"


def test_a_speaker_in_the_query_is_who_said_it(talk: Path) -> None:
    with View.open(talk) as view:

        def told(words: str, k: int = 5) -> list[str]:
            return texts(SpeechRetriever().retrieve(Query(text=words), view, k))

        assert told("ben miles saw") == ["Ben Miles: The saw is blunt."]
        assert told("what did ben say about the saw") == ["Ben Miles: The saw is blunt."]
        assert told("saw of speaker 3") == ["speaker 3: A blunt old saw."]
        assert sorted(told("saw")) == ["Ann: The saw is here.", "Ben Miles: The saw is blunt.", "speaker 3: A blunt old saw."]
        assert told("blunt old saw", 1) == ["speaker 3: A blunt old saw."]
        assert SpeechRetriever().retrieve(Query(text="blunt saw"), view, 5).confidence == 1.0
        assert SpeechRetriever().retrieve(Query(text="giraffe"), view, 5) == Hits()


def test_relations_are_as_sure_as_they_hold_the_words(talk: Path) -> None:
    with View.open(talk) as view:
        hits = EntityRetriever().retrieve(Query(text="saw"), view, 5)
        assert [one.score for one in hits.evidence] == pytest.approx([0.7, 0.6, 0.5])
        assert hits.confidence == pytest.approx(0.7)
        both = EntityRetriever().retrieve(Query(text="ben saw"), view, 5)
        assert both.evidence[0].text.startswith("Ben Miles used the saw")
        assert both.confidence == pytest.approx(0.5), ".5 x all words, .7 x half of them is less"
        assert EntityRetriever().retrieve(Query(text="saw"), view, 2).evidence == hits.evidence[:2]
        assert EntityRetriever().retrieve(Query(text="chisel"), view, 5) == Hits()
        assert len(EntityRetriever().retrieve(Query(text="saw", to_us=START_US), view, 5).evidence) == 1
