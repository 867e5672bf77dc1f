"""What is gathered for a question: signs with their lines together, statements, shares of words, meaning above chance."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgemem.answer import gather
from edgemem.answer.gather import Gather, GatherTool, Meaning, held_shares, signs_of, statements
from edgemem.answer.retrieve import EventRetriever, Query
from edgemem.answer.retrievers.frames import FrameRetriever
from edgemem.answer.retrievers.readings import TextRetriever
from edgemem.answer.understand.words import figures, numbered, root, synonyms
from edgemem.errors import EngineError
from edgemem.infer.roles import Space
from edgemem.records import US, Observation
from edgemem.remember.entries import NewDocument, NewPassage, embedded
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US, WordMatcher, label, remember, text


class Trigrams:
    """A sentence vector that counts three letters in a row: alike where the letters are."""

    space = Space(name="trigrams", dim=4096)

    def embed_text(self, texts: Sequence[str]) -> Any:
        made = np.zeros((len(texts), 4096), np.float32)
        for row, words in enumerate(texts):
            for at in range(len(words) - 2):
                made[row, sum(ord(c) * 31**i for i, c in enumerate(words[at : at + 3].lower())) % 4096] += 1
        return made / np.maximum(1e-6, np.linalg.norm(made, axis=1, keepdims=True))

    embed_query = embed_text


class Engines:
    """Roles that are there, and nothing else."""

    def __init__(self, **roles: object) -> None:
        self._roles = roles

    def missing(self, role: str) -> str:
        return "" if role in self._roles else "not configured"

    def role(self, role: str) -> Any:
        return self._roles[role]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("gather") / "memory"
    seen = {
        10: (text("FLIGHT AF6I6"), text("ON TIME"), text("Casbah")),
        12: (Observation(kind="text", name="FLIGHT AF616", score=0.99), text("ON TIME")),
        14: (text("FLIGHT AF616"), text("0N TIME"), text("xx")),
        60: (text("GATE 18"),),
        100: (label("coffee mug"),),
    }
    with Store.open(directory) as store:
        store.ensure_stream("hall", START_US)
        remember(store, "hall", START_US, seen)
        with store.transaction() as tx:
            t_us = START_US + 80 * US
            tx.add_document(
                NewDocument(
                    kind="utterance", text="When is lunch? The boarding pass is in my jacket. It is blue.", stream="hall", t0_us=t_us,
                    t1_us=t_us + US, offset_us=80 * US, known_us=t_us + US, origin="asr",
                )
            )  # fmt: skip
    return directory


@pytest.fixture
def view(memory: Path) -> Iterator[View]:
    with View.open(memory) as opened:
        yield opened


def test_the_lines_of_a_sign_belong_together_as_they_were_read_most_surely(view: View) -> None:
    signs = signs_of(view, Query(text=""))
    assert [sign.text for sign in signs] == ["FLIGHT AF616\nON TIME", "GATE 18"]
    assert [one.offset_us // US for one in signs[0].evidence] == [12, 10, 14]


def test_a_sign_in_front_of_text_that_is_always_in_view_is_told(tmp_path: Path) -> None:
    """Of a run of readings each line that was read twice stands in a sign, also where the surest reading has it not."""
    sale, exit_ = "RICE, SALE 40% OFF", "RICE, EXIT"
    lines = {10: "RICE", 12: "RICE, 0IE", 14: sale, 16: sale, 18: "RICE", 20: exit_, 22: exit_}
    surest = {10: 1.0, 14: 0.95, 22: 0.95}
    seen = {
        at_s: tuple(Observation(kind="text", name=line, score=surest.get(at_s, 0.9)) for line in read.split(", "))
        for at_s, read in lines.items()
    }
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("hall", START_US)
        remember(store, "hall", START_US, seen)
    with View.open(tmp_path / "memory") as opened:
        signs = signs_of(opened, Query(text=""))
    assert [sign.text for sign in signs] == ["RICE\nSALE 40% OFF", "RICE\nEXIT"]
    assert [[one.offset_us // US for one in sign.evidence] for sign in signs] == [[14, 16, 10, 22, 12, 18, 20], [22, 20]]


def test_questions_that_were_heard_state_nothing_and_a_pronoun_goes_on() -> None:
    heard = "When is lunch? The plumber called. He comes at nine. Fine."
    assert statements(heard) == ["The plumber called.", "He comes at nine.", "Fine.", "The plumber called. He comes at nine."]
    assert statements("Is it late?") == []


def test_a_rare_word_weighs_more_than_a_frequent_one() -> None:
    texts = ["the blue door", "the blue car", "the blue boat", "a red lamp"]
    shares = held_shares(["blue", "lamp"], texts, [""] * 4)
    assert shares[3] > shares[0] == shares[1] > 0
    assert held_shares(["doors"], texts, [""] * 4)[0] == 1.0
    assert held_shares([], texts, [""] * 4) == [0.0] * 4
    assert held_shares(["41"], ["size forty-one"], [""]) == [1.0]


@pytest.mark.parametrize(
    ("word", "text", "share"),
    [
        ("movie", "the film begins at nine", 0.8),
        ("film", "a movie", 0.8),
        ("purchase", "she bought bread", 0.8),
        ("purchased", "what we need to buy", 0.8),
        ("infant", "two babies", 0.8),
        ("movie", "a cartoon", 0.0),
        ("film", "film", 1.0),
    ],
)
def test_a_word_that_means_the_same_counts_less_than_the_word_itself(word: str, text: str, share: float) -> None:
    assert held_shares([word], [text], [""]) == [pytest.approx(share)]
    assert held_shares([word], ["nothing of it"], [text])[0] == (1.0 if share == 1.0 else 0.0)  # beside it only the word itself


def test_only_common_words_mean_the_same() -> None:
    assert {root("movie"), "film"} <= synonyms("movies")
    assert {root("phone"), root("telephone")} <= synonyms("phoned")
    assert synonyms("zorblax") == {"zorblax"}


def test_a_list_is_found_by_what_it_is_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("hall", START_US)
        with store.transaction() as tx:
            for n, words in enumerate(("We need to buy flour and soap.", "The list of guests is long.")):
                t_us = START_US + n * 20 * US
                tx.add_document(
                    NewDocument(
                        kind="utterance", text=words, stream="hall", t0_us=t_us, t1_us=t_us + US, offset_us=t_us - START_US,
                        known_us=t_us + US, origin="asr",
                    )
                )  # fmt: skip
    with View.open(tmp_path / "memory") as view:
        tool = GatherTool(())
        held = {}
        for question in ("what is on the shopping list", "where is the shopping list", "what is on the list"):
            pool = tool.run(Gather(question=question, words=("shopping", "list")), view)
            held[question] = next(one.held for one in pool.candidates if "flour" in one.text)
    assert held == {"what is on the shopping list": 1.0, "where is the shopping list": 0.0, "what is on the list": 0.0}


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("My shoe size is forty-one", "my shoe size is 41"),
        ("the code is four seven one nine", "the code is 4719"),
        ("level four next to", "level 4 next to"),
        ("two cats and three dogs", "2 cats and 3 dogs"),
        ("gate B 12", "gate b 12"),
        ("the twentieth of May", "the 20 of may"),
        ("one zero two", "102"),
        ("five five", "5 5"),
    ],
)
def test_numbers_survive(said: str, written: str) -> None:
    assert " ".join(numbered(said)) == written


def test_figures_leave_all_else_as_it_is() -> None:
    assert figures("Size forty-one, please, Anna.") == "Size 41, please, Anna."
    assert figures("The first second") == "The first second"


def test_other_forms_of_a_word_have_its_root() -> None:
    assert {root(word) for word in ("printer", "printers")} == {"printer"}
    assert root("batteries") == root("battery")
    assert root("movies") == root("movie") == "movy"
    assert root("coming") == root("comes")
    assert (root("running"), root("all"), root("boss")) == ("run", "all", "bos")
    assert root("bakery") != root("baker")


def test_meaning_stands_above_chance_only_where_it_is_near() -> None:
    meaning = Meaning(Engines(embed_text=Trigrams()))
    cosines, above = meaning.near(["where is the boarding pass"], ["the boarding pass is in my jacket", "it may rain"])
    assert cosines[0] > 2 * cosines[1]
    assert above[0] > 2 > above[1]
    cosines, above = Meaning(None).near(["where"], ["here"])
    assert (cosines.tolist(), above.tolist()) == ([0.0], [0.0])


def test_everything_is_gathered_at_once(view: View) -> None:
    retrievers = (FrameRetriever(matcher=WordMatcher()), TextRetriever(), EventRetriever())
    tool = GatherTool(retrievers, Engines(embed_text=Trigrams()))
    pool = tool.run(Gather(question="where is my boarding pass", words=("boarding", "pass"), things=("coffee mug", '"gate"')), view)
    best = pool.candidates[0]
    assert (best.channel, best.text, best.held) == ("speech", "The boarding pass is in my jacket.", 1.0)
    assert best.above > pool.candidates[1].above
    mug, gate = pool.leads
    assert (mug.basis, [e.offset_us // US for e in mug.episodes]) == ("frame", [100])
    assert (gate.basis, [e.offset_us // US for e in gate.episodes]) == ("text", [60])
    assert {e.id for e in best.evidence} <= {e.id for e in pool.evidence}
    assert not pool.people


class Apart(Trigrams):
    """Has its own vectors for queries, as models with two instructions do, and may be away."""

    def __init__(self) -> None:
        self.why = ""
        self.queries: list[str] = []
        self.documents: list[str] = []

    def embed_text(self, texts: Sequence[str]) -> Any:
        if self.why:
            raise EngineError(self.why)
        self.documents += texts
        return super().embed_text(texts)

    def embed_query(self, texts: Sequence[str]) -> Any:
        if self.why:
            raise EngineError(self.why)
        self.queries += texts
        return -super().embed_text(texts)


def test_questions_are_embedded_as_queries_and_what_was_said_as_documents() -> None:
    embedder = Apart()
    meaning = Meaning(Engines(embed_text=embedder))
    cosines, _ = meaning.near(["gate"], ["gate"])
    assert cosines.tolist() == pytest.approx([-1.0]), "the same text as a query and as a document"
    assert embedder.documents == ["gate"]
    assert "gate" in embedder.queries
    meaning.near(["gate"], ["gate"])
    assert (embedder.documents, embedder.queries.count("gate")) == (["gate"], 1), "each is asked for once"


@pytest.mark.parametrize(("most", "asked"), [(42, 1), (41, 2)])
def test_vectors_are_forgotten_where_there_are_more_than_are_remembered(most: int, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forty unrelated questions, the question and what was said are forty-two."""
    monkeypatch.setattr(gather, "_REMEMBERED", most)
    embedder = Apart()
    meaning = Meaning(Engines(embed_text=embedder))
    for _ in range(2):
        meaning.near(["gate"], ["gate"])
    assert embedder.documents.count("gate") == asked


def test_words_alone_are_compared_where_the_engine_fails_and_that_is_said(view: View) -> None:
    embedder = Apart()
    tool = GatherTool((TextRetriever(), EventRetriever()), Engines(embed_text=embedder))
    wanted = Gather(question="where is my boarding pass", words=("boarding", "pass"), things=())
    embedder.why = "the server is away"
    pool = tool.run(wanted, view)
    assert pool.candidates[0].text == "The boarding pass is in my jacket."
    assert {one.cosine for one in pool.candidates} == {0.0}
    assert pool.by_words == "what was said and read was compared by its words alone: the server is away"
    embedder.why = ""
    assert tool.run(wanted, view).by_words == "", "it is back"
    embedder.why = "the server is away"
    assert tool.run(Gather(question="", things=("mug",)), view).by_words == "", "nothing was compared"


def test_an_engine_that_cannot_be_loaded_is_as_one_that_fails(view: View) -> None:
    class Broken(Engines):
        def role(self, role: str) -> Any:
            raise EngineError(f"the file for {role} is damaged")

    meaning = Meaning(Broken(embed_text=None))
    assert [some.tolist() for some in meaning.near(["where"], ["here", "there"])] == [[0.0, 0.0]] * 2
    assert meaning.problem == "what was said and read was compared by its words alone: the file for embed_text is damaged"
    assert meaning.passages(view, Query(text="where")) == []


def test_nothing_outside_the_stretch_of_time_is_gathered(view: View) -> None:
    tool = GatherTool((FrameRetriever(matcher=WordMatcher()), TextRetriever(), EventRetriever()))
    pool = tool.run(
        Gather(question="flight gate boarding", things=("coffee mug",), from_us=START_US + 50 * US, to_us=START_US + 70 * US), view
    )
    assert [one.text for one in pool.candidates] == ["GATE 18"]
    assert pool.leads[0].episodes == ()


def test_in_a_long_memory_what_was_said_is_found_by_words_and_by_meaning(tmp_path: Path) -> None:
    trigrams = Trigrams()
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("talk", START_US)
        store.ensure_space(trigrams.space, holds="passage")
        for number in range(420):
            said = {7: "The spare wheel is in the cellar.", 9: "Its wheels are cellared."}.get(
                number, f"Sentence number {number} says little."
            )
            t_us = START_US + number * US
            utterance = NewDocument(
                kind="utterance", text=said, stream="talk", t0_us=t_us, t1_us=t_us, offset_us=number * US, known_us=t_us, origin="asr",
                passages=(NewPassage(kind="document", text=said, vectors={}),),
            )  # fmt: skip
            with store.transaction() as tx:
                tx.add_document(embedded(utterance, trigrams))
    tool = GatherTool((TextRetriever(),), Engines(embed_text=trigrams))
    with View.open(tmp_path / "memory") as view:
        pool = tool.run(Gather(question="the spare wheel in the cellar", words=("spare", "wheel", "cellar")), view)
    assert pool.candidates[0].text == "The spare wheel is in the cellar."
    assert len(pool.candidates) <= 40


@pytest.mark.parametrize(("said", "searched"), [(401, 1), (400, 0)])
def test_in_a_large_memory_so_many_lines_of_full_text_are_compared(said: int, searched: int) -> None:
    asked: list[tuple[str, int, Any]] = []

    def found(text: str, limit: int, **stretch: Any) -> list[Any]:
        asked.append((text, limit, stretch))
        return []

    asks = SimpleNamespace(document=SimpleNamespace(text="Is it late?"))
    view: Any = SimpleNamespace(utterances=lambda **_: [asks] * said, search_text=found, spoken=lambda _ids: [])
    meaning: Any = SimpleNamespace(passages=lambda *_: [])
    assert gather._said(view, Query(text="the tent", from_us=1, to_us=9), meaning) == []
    assert asked == [("the tent", 60, {"kinds": ("utterance",), "from_us": 1, "to_us": 9})] * searched
