"""Fit the weights of evidence: `fit.py --on facts_a,composed --material FILE [--write]`.

Material: stated facts with questions that they answer and questions without an answer (`facts_a.tsv` and `facts_b.tsv`, by two hands,
answered from small random memories made of them), composed streams and life logs. Features of the most probable candidates of every
question are collected. Monotone logistic models are fitted on some kinds of material and evaluated on the others: area under the curve and
Brier score. Pictures have no model: the confidence of the matcher is evaluated directly. Its thresholds follow from the probability at
which an answer is worth giving (`WORTH`) and from how often the thing in question was there (`PRIORS`). Nothing is fitted on the material
for which it is reported.
"""

import argparse
import csv
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from ask import make_kit

from edgemem.answer import weigh
from edgemem.answer.gather import CARRIED, SPOKEN, Candidate, Gather, GatherTool, Meaning, Pool, held_shares
from edgemem.answer.local import everything
from edgemem.answer.planner import AnswerKit
from edgemem.answer.session import Session
from edgemem.answer.understand import understand
from edgemem.answer.understand.timespan import resolve
from edgemem.answer.understand.words import content_words, numbered
from edgemem.records import US, Evidence, Question
from edgemem.remember.view import View

Array = npt.NDArray[np.float64]
FACTS = ("facts_a.tsv", "facts_b.tsv")
"""The weights that edgemem ships are fitted on the first; on the second they reach an area under the curve of .950, its own fit .954."""
NEAR_S = 5.0
WORDS = ("held", "cosine", "above", "misfits", "told", "channel")
"""Features of words (`weigh.word_features`)."""
LETTERS = tuple(name for name in WORDS if name not in {"cosine", "above"})
"""Those that need no engine for the meaning of words."""
AGAINST = frozenset(("misfits",))
"""Features that may only speak against the evidence; all others may only speak for it."""
LEAST = {"words": 0.06, "letters": 0.25}
"""Least probabilities at which words are an answer; chosen on composed streams, that of letters on `facts_a.tsv` too."""
WORTH = {"granted": 1 / 3, "ordinal": 0.506, "surely": 0.5}
"""Least probability of being right at which an answer is better than none. Where a question takes the thing for granted, silence is mostly
wrong as well, so that less is enough: of the least confidences from .08 to .24 that of 1/3, .20, has the best mean score on three composed
streams (68.1 with .24, 68.9 with .20). On fifteen life logs it brings 0.9 more than .24, and an F1 of abstention of 65.7 in place of 61.6
on their templates; they would have had .12 to .16, which was known when this was chosen. That a thing was there at all is said where yes is
likelier than no.

"ordinal" is the least with which at most 10 % of everyday things that were never there are "last seen": 9.3 % of 878 questions about
fifteen life logs (`all.OTHER`), 2.9 % of 1,041 (`all.ABSENT`). It is 6.9 % of 896 (`all.FRESH`, in view as well) and 8.5 % of 697
(`all.FURTHER`, by another hand, asked when this stood). With .474, a limit of .39, they were 15.7, 3.7, 10.5 and 13.2 %, and the mean score
of 77 sets of questions about life logs was 0.25 higher. The least confidence of the thing is .44 as fitted on three composed streams; what
is told has `say.pictures.SHARES` of it.

"When did I see the ...?" asks for less, so that it affirms more of what was never shown: of 1,041 such questions (`all.ABSENT`) 24 % with
.24 and 37 % with .20, of 878 (`all.OTHER`) 42 and 53 %, of 896 (`all.FRESH`) 32 and 43 %."""
PRIORS = {"granted": 9 / 10, "ordinal": 9 / 10, "surely": 2 / 3}
"""How often the thing was there, for questions that take it for granted ("when did I see it") and for others ("did I see it")."""
SHOWN = 2
"""Number of first appearances; the right one counts as found if it is among them."""
TOP = 4
"""Candidates of one question that are used as examples: those that could be the answer."""


class Example(msgspec.Struct, frozen=True):
    """Features of one candidate or lead, and whether it answers its question."""

    source: str
    group: str
    """Group of examples of one kind of fact or thing: cross-validation leaves out whole groups."""
    kind: str
    features: dict[str, float]
    right: bool
    question: str = ""
    text: str = ""
    answerable: bool = True


def facts(path: Path, meaning: Meaning, rounds: int = 4, size: int = 14) -> Iterator[Example]:
    """Every question, asked of random memories that contain its fact, and of others that do not. The source is the file's name."""
    rows = [row for row in csv.reader(path.open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE) if row]
    rng = random.Random(7)
    for number, (channel, text, asks, never) in enumerate(rows):
        if channel == "chat":
            continue
        questions = [(q.strip(), True) for q in asks.split("|")] + [(q.strip(), False) for q in never.split("|")]
        for question, answers in questions:
            for turn in range(rounds if answers else rounds // 2):
                other = [row for i, row in enumerate(rows) if i != number]
                chosen = rng.sample(other, size)
                held = [*chosen, rows[number]] if turn or not answers else chosen
                yield from of_words(
                    path.stem,
                    f"{path.stem}{number}",
                    question,
                    [_candidate(row) for row in held],
                    meaning,
                    {text.replace(" / ", "\n")} if answers else set(),
                )


def _candidate(row: Sequence[str]) -> Candidate:
    text = row[1].replace(" / ", "\n")
    evidence = Evidence(id="d1", channel="speech", stream="s", t0_us=0, t1_us=0, offset_us=0, score=1.0, text=text)
    around = CARRIED if row[0] == "read" else SPOKEN
    return Candidate(channel="text" if row[0] == "read" else "speech", text=text, evidence=(evidence,), around=around)


def of_words(source: str, group: str, question: str, held: list[Candidate], meaning: Meaning, right: set[str]) -> Iterator[Example]:
    """Examples of the most probable of some candidates."""
    parsed = understand(question)
    wanted = tuple(dict.fromkeys(numbered(" ".join(parsed.words or content_words(question)))))
    cosines, above = meaning.near((question.lower(), " ".join(wanted)), [one.text for one in held])
    shares = held_shares(wanted, [one.text for one in held], [one.around for one in held])
    weighed = [
        msgspec.structs.replace(one, held=share, cosine=float(cosine), above=float(z))
        for one, share, cosine, z in zip(held, shares, cosines, above, strict=True)
    ]
    for one in sorted(weighed, key=lambda one: -weigh.stated(parsed, one))[:TOP]:
        yield Example(source, group, "words", weigh.word_features(parsed, one), one.text in right, question, one.text)


def streams(source: str, memory: Path, questions: Sequence[dict[str, Any]], kit: AnswerKit) -> Iterator[Example]:
    """Examples of the questions of one stream."""
    tool = next(tool for tool in kit.tools if isinstance(tool, GatherTool))
    with View.open(memory) as view:
        bounds = view.bounds()
        assert bounds is not None
        for number, question in enumerate(questions):
            now_us = bounds[1] + 3600 * US
            asked = Question(text=question["question"], asked_us=now_us, as_of_us=now_us)
            parsed = understand(asked.text)
            session = Session(asked, lambda p=parsed, q=asked: (p, resolve(p.time, q, view)))  # type: ignore[misc]
            pool = _gathered(session, tool, view)
            spans = question["spans"]
            textual = question["channel"] in {"text", "speech"} and not question["unanswerable"]
            group = f"{memory.name}-{number}"
            for one in sorted(pool.candidates, key=lambda one: -weigh.stated(parsed, one))[:TOP]:
                right = textual and any(_near(e, spans) for e in one.evidence)
                yield Example(source, group, "words", weigh.word_features(parsed, one), right, asked.text, one.text)
            visual = question["channel"] == "frame" or question["unanswerable"]
            for lead in pool.leads[:1] if visual and weigh.stated_prior(parsed) < 0.5 else ():
                if lead.basis == "frame" and lead.episodes:
                    best = sorted(lead.episodes, key=lambda e: -e.score)[:SHOWN]
                    right = not question["unanswerable"] and any(_near(e.evidence[0], spans) for e in best)
                    yield Example(
                        source, group, "pictures", {"confidence": lead.confidence}, right, asked.text, lead.phrase,
                        not question["unanswerable"],
                    )  # fmt: skip


def _gathered(session: Session, tool: GatherTool, view: View) -> Pool:
    plan = everything(session)
    result: Any = None
    try:
        while True:
            action = plan.send(result)
            assert isinstance(action, Gather)
            result = tool.run(action, view)
    except StopIteration as stop:
        pool: Pool = stop.value
        return pool


def _near(evidence: Evidence, spans: Sequence[Sequence[float]]) -> bool:
    at = evidence.offset_us / US
    return any(low - NEAR_S <= at <= high + NEAR_S for low, high in spans)


def fit(examples: Sequence[Example], names: Sequence[str], least: float, l2: float = 0.02) -> weigh.Model:
    """Logistic regression with the signs that the features must have, by projected gradient; both classes have the same total weight."""
    x = np.array([[one.features[name] for name in names] for one in examples])
    y = np.array([one.right for one in examples], float)
    sign = np.array([-1.0 if name in AGAINST else 1.0 for name in names])
    w, b, n = np.zeros(len(names)), 0.0, len(y)
    for _ in range(20_000):
        p = 1 / (1 + np.exp(-(x @ w + b)))
        w = w - 0.3 * (x.T @ (p - y) / n + l2 * w / np.sqrt(n) * 2)
        w = sign * np.maximum(0.0, sign * w)
        b -= 0.3 * float(np.mean(p - y))
    return weigh.Model(least=least, constant=round(b, 3), weights={name: round(float(v), 3) for name, v in zip(names, w, strict=True)})


def threshold(examples: Sequence[Example], name: str) -> float:
    """The confidence from which on the best pictures are right with probability `WORTH`, where things were there as often as `PRIORS` say.

    Logistic regression on the log odds of the confidence; examples weigh so that their share of answerable ones is the prior.
    """
    sure = np.clip([one.features["confidence"] for one in examples], 0.01, 0.99)
    x = np.stack([np.log(sure / (1 - sure)), np.ones(len(sure))], axis=1)
    right, there = np.array([one.right for one in examples], float), np.array([one.answerable for one in examples])
    prior, worth = PRIORS[name], WORTH[name]
    weight = np.where(there, prior / there.mean(), (1 - prior) / (1 - there.mean()))
    found = np.zeros(2)
    for _ in range(30):  # Newton's method
        p = 1 / (1 + np.exp(-(x @ found)))
        found += np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x, x.T @ (weight * (right - p)))
    odds = math.exp((math.log(worth / (1 - worth)) - found[1]) / found[0])
    return round(odds / (1 + odds), 2)


def judged(probability: Callable[[Mapping[str, float]], float], examples: Sequence[Example]) -> dict[str, float]:
    """Area under the curve, Brier score, and the number of examples."""
    p = np.array([probability(one.features) for one in examples])
    y = np.array([one.right for one in examples])
    pos, neg = p[y], p[~y]
    auc = float(np.mean((pos[:, None] > neg[None, :]) + 0.5 * (pos[:, None] == neg[None, :]))) if len(pos) and len(neg) else float("nan")
    return {"n": len(y), "right": int(y.sum()), "auc": round(auc, 3), "brier": round(float(np.mean((p - y) ** 2)), 3)}


def lifelog_questions(folder: Path, natural: Path | None) -> list[dict[str, Any]]:
    """Template questions of one life log, and the natural ones."""
    made: list[dict[str, Any]] = json.loads((folder / "qa.json").read_text())
    truth = json.loads((folder / "truth.json").read_text())
    shown: dict[str, list[list[float]]] = {}
    for one in truth["appearances"]:
        for name in one["names"]:
            shown.setdefault(name, []).append([one["t0"], one["t1"]])
    made = made + seen_questions(shown, [name.removeprefix("photo:") for name in truth["never_shown"]])
    return made + (json.loads(natural.read_text()) if natural is not None and natural.exists() else [])


def composed_questions(folder: Path) -> list[dict[str, Any]]:
    """Questions of a composed stream in the form of a life log's, and one for every thing that was shown or never shown."""
    truth = json.loads((folder / "truth.json").read_text())
    asked = [
        {
            "id": q["id"], "question": q["text"], "spans": q["spans"], "options": q["options"], "unanswerable": not q["answerable"],
            "channel": "text" if q["kind"] in {"what", "who"} and q["check"] == "text" else "frame",
        }
        for q in truth["questions"]
    ]  # fmt: skip
    shown: dict[str, list[list[float]]] = {}
    tags: set[str] = set()
    for segment in truth["segments"]:
        parts = [*segment["things"], *([segment["background"]] if segment["background"] else [])]
        for name in (word for part in parts for word in part["ask"]):
            shown.setdefault(name, []).append([segment["t0"], segment["t1"]])
        tags |= {word.lower() for part in parts for word in (*part["ask"], *part["kinds"])}
    with Path(__file__).with_name("catalog.csv").open(encoding="utf-8") as lines:
        known = {name.strip() for row in csv.DictReader(lines) for name in row["ask"].split("|")}
    never = sorted(name for name in known if name and name.lower() not in tags)
    return asked + seen_questions(shown, random.Random(truth["seed"]).sample(never, min(len(never), len(shown))))


def seen_questions(shown: dict[str, list[list[float]]], never: Sequence[str]) -> list[dict[str, Any]]:
    """Questions when a thing was seen, for things that were shown and for others that were not."""
    made = [
        {"question": f"When did I see the {name}?", "spans": spans, "channel": "frame", "unanswerable": False}
        for name, spans in shown.items()
    ]
    return made + [{"question": f"When did I see the {name}?", "spans": [], "channel": "frame", "unanswerable": True} for name in never]


def collected(material: Path, cache: Path | None) -> list[Example]:
    """Examples of all material, from the cache if it exists."""
    if cache and cache.exists():
        return msgspec.json.decode(cache.read_bytes(), type=list[Example])
    kit = make_kit()
    examples = [one for name in FACTS for one in facts(Path(__file__).with_name(name), Meaning(kit.engines))]
    for source, rows in json.loads(material.read_text()).items():
        for memory, folder, natural in rows:
            home = Path(folder)
            asked = composed_questions(home) if source == "composed" else lifelog_questions(home, Path(natural) if natural else None)
            examples += streams(source, Path(memory), asked, kit)
    if cache:
        cache.write_bytes(msgspec.json.encode(examples))
    return examples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--material", type=Path, required=True, help="JSON: {source: [[memory, questions folder, natural.json or null], ...]}"
    )
    parser.add_argument("--on", required=True, help="sources to fit on, such as facts,composed")
    parser.add_argument("--write", action="store_true", help="write edgemem/answer/weights.json")
    parser.add_argument("--cache", type=Path, help="keep the examples here")
    args = parser.parse_args()
    examples = collected(args.material, args.cache)
    on = set(args.on.split(","))
    fitted = {}
    for model, kind, names in (
        ("words", "words", WORDS),
        ("letters", "words", LETTERS),
    ):
        own = [one for one in examples if one.kind == kind and one.source in on]
        fitted[model] = fit(own, names, LEAST[model])
        print(model, fitted[model])
        for source in sorted({one.source for one in examples}):
            there = [one for one in examples if one.kind == kind and one.source == source]
            if there:
                print(f"  {source:10}", "fitted on" if source in on else "", judged(fitted[model].probability, there))
    print("pictures, as the matcher says")
    for source in sorted({one.source for one in examples}):
        if there := [one for one in examples if one.kind == "pictures" and one.source == source]:
            print(f"  {source:10}", judged(lambda features: features["confidence"], there))
    pictures = [one for one in examples if one.kind == "pictures" and one.source in on]
    least = {name: threshold(pictures, name) for name in PRIORS}
    print("least confidence of pictures", least)
    if args.write:
        path = Path(weigh.__file__).with_name("weights.json")
        made = weigh.Weights(words=fitted["words"], letters=fitted["letters"], **least, source=f"tools/eval/fit.py --on {args.on}")
        path.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")


if __name__ == "__main__":
    main()
