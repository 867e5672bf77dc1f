"""Several recipes over one stream: each remembers it in a process of its own and answers the same questions."""

from __future__ import annotations

import multiprocessing
import re
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median, quantiles

import msgspec

from edgemem.errors import UsageError
from edgemem.records import US, Answer, Record
from edgemem.serve.memory import Memory

MOST_FILE_BYTES = 16 << 20
"""Largest file of questions that is read."""
TOP = 5
"""Pieces of evidence that recall looks at."""


Given = tuple["Path | None", tuple[str, ...]]
"""A settings file and overrides."""


class TruthQuestion(Record, frozen=True):
    """A question with its right answer."""

    question: str
    answer: str = ""
    """Wordings that are right, separated by "|"."""
    options: tuple[str, ...] | None = None
    spans: tuple[tuple[float, float], ...] = ()
    """Where the stream shows it, in seconds from its beginning."""
    unanswerable: bool = False
    """The stream does not show it: abstaining is right."""


class Compared(Record, frozen=True):
    """What one recipe reached."""

    recipe: str
    right: float
    """Share of all questions that were answered rightly, or rightly not at all."""
    recall: float | None
    """Share of the questions with `spans` for which one of the first five pieces of evidence is near; None without such questions."""
    abstained: float | None
    """Share of the unanswerable questions that were not answered; None without such questions."""
    wrongly_abstained: float
    """Share of the answerable questions that were not answered."""
    p50_ms: float
    p95_ms: float
    real_time: float
    """Seconds of the stream that are remembered in a second."""
    disk_bytes: int
    ram_bytes: int
    """The most memory that the process held, while it remembered and answered."""


def read_questions(path: Path) -> list[TruthQuestion]:
    """A JSON list of questions; keys that `TruthQuestion` does not have are left alone. Raises UsageError."""
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            raise UsageError(f"{path}: more than {MOST_FILE_BYTES >> 20} MiB is no list of questions")
        questions = msgspec.json.decode(path.read_bytes(), type=list[TruthQuestion])
    except (OSError, msgspec.MsgspecError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f'{path}: not a JSON list such as [{{"question": "...", "answer": "..."}}] ({why})') from None
    if not questions:
        raise UsageError(f"{path}: no questions")
    return questions


def compare(
    source: str, questions: Sequence[TruthQuestion], recipes: Sequence[str], folder: Path, settings: Given = (None, ()),
    *, within_s: float = 10.0,
) -> Iterator[Compared]:  # fmt: skip
    """Yields each recipe's result, in their order. `folder` takes one memory for each. Raises what ingesting and asking raise."""
    context = multiprocessing.get_context("spawn")  # a forked process would count our own memory too
    for recipe in recipes:
        with ProcessPoolExecutor(1, context) as pool:
            yield pool.submit(_measured, source, tuple(questions), recipe, folder / recipe, settings, within_s).result()


def _measured(source: str, questions: Sequence[TruthQuestion], recipe: str, directory: Path, settings: Given, within_s: float) -> Compared:
    config, overrides = settings
    with Memory.open(directory, config=config, overrides=overrides) as memory:
        report = memory.ingest(source, recipe=recipe)
        asked = [_asked(memory, recipe, question) for question in questions]
        disk_bytes = memory.stats().disk_bytes
    real_time = report.seconds_of_video / max(1e-6, report.seconds_spent)
    return scored(recipe, questions, asked, within_s, Cost(real_time=real_time, disk_bytes=disk_bytes, ram_bytes=_peak_bytes()))


def _asked(memory: Memory, recipe: str, question: TruthQuestion) -> tuple[Answer, float]:
    begun = time.perf_counter()
    answer = memory.ask(question.question, options=question.options or (), recipe=recipe)
    return answer, 1000 * (time.perf_counter() - begun)


class Cost(Record, frozen=True):
    """What remembering took."""

    real_time: float
    disk_bytes: int
    ram_bytes: int


def scored(
    recipe: str, questions: Sequence[TruthQuestion], asked: Sequence[tuple[Answer, float]], within_s: float, cost: Cost
) -> Compared:  # fmt: skip
    """The figures of one recipe."""
    pairs = [(question, answer) for question, (answer, _) in zip(questions, asked, strict=True)]
    times = sorted(ms for _, ms in asked)
    shown = [near(question, answer, within_s) for question, answer in pairs if question.spans and not question.unanswerable]
    silent = [answer.status == "abstained" for question, answer in pairs if question.unanswerable]
    unsaid = [answer.status == "abstained" for question, answer in pairs if not question.unanswerable]
    return Compared(
        recipe=recipe, right=_share([is_right(question, answer) for question, answer in pairs]) or 0.0, recall=_share(shown),
        abstained=_share(silent), wrongly_abstained=_share(unsaid) or 0.0, p50_ms=median(times),
        p95_ms=quantiles(times, n=20)[-1] if len(times) > 1 else times[0],
        real_time=cost.real_time, disk_bytes=cost.disk_bytes, ram_bytes=cost.ram_bytes,
    )  # fmt: skip


def is_right(question: TruthQuestion, answer: Answer) -> bool:
    """Whether the answer holds a right wording, or is the right option, or rightly abstains."""
    if question.unanswerable or answer.status == "abstained":
        return question.unanswerable and answer.status == "abstained"
    if question.options:
        return answer.option is not None and question.options[answer.option] == question.answer
    said = f" {_plain(answer.answer)} "
    return any(f" {wording} " in said for wording in map(_plain, question.answer.split("|")) if wording)


def near(question: TruthQuestion, answer: Answer, within_s: float) -> bool:
    """Whether one of the first pieces of evidence lies within `within_s` of where the stream shows it."""
    for one in answer.evidence[:TOP]:
        from_s, to_s = one.offset_us / US, (one.offset_us + one.t1_us - one.t0_us) / US
        if any(from_s - within_s <= end_s and start_s - within_s <= to_s for start_s, end_s in question.spans):
            return True
    return False


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
