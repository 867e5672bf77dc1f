"""Rules that decide whether an answer is right and its evidence near the truth, and sums per kind."""

import re
from datetime import datetime
from typing import Any

import msgspec
from world import Question, Span, Truth

WITHIN_S = (10, 30, 60)
TOLERANCE_S = 10.0  # of a time in an answer, and of evidence that counts as right
TOP = 5  # evidence items that count for recall
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
TIME = re.compile(r"\b(\d{1,2}):(\d{2})(?::(\d{2}))?(?:[.,]\d+)?(?:\s*([ap])\.?m\b)?", re.IGNORECASE)
SPELT = re.compile(r"(?:(\d+)\s*min\w*)(?:\s*(?:and|,)?\s*(\d+)\s*s\w*)?", re.IGNORECASE)


class Result(msgspec.Struct, frozen=True):
    """The result of one question. `near`: for each of `WITHIN_S`, whether the evidence was that near the truth."""

    seed: int
    id: str
    kind: str
    text: str
    difficulty: str
    answerable: bool
    silent_ok: bool
    status: str
    answer: str
    right: bool
    confidence: float
    near: tuple[bool, ...]
    top1: bool | None
    ms: float
    evidence: tuple[Span, ...]
    spans: tuple[Span, ...]


def normalise(text: str) -> str:
    """Lower case, everything but letters and digits as one space, plural s dropped from longer words."""
    words = re.sub(r"[^0-9a-z]+", " ", text.lower()).split()
    return " ".join(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words)


def contains(answer: str, wanted: str) -> bool:
    """Whether the words are in the answer; text with lost spaces (from OCR) counts from 5 letters on."""
    said, word = normalise(answer), normalise(wanted)
    squeezed = word.replace(" ", "")
    return f" {word} " in f" {said} " or (len(squeezed) >= 5 and squeezed in said.replace(" ", ""))


def seconds_in(answer: str, start: datetime) -> list[Span]:
    """What the first two times in an answer may mean, in seconds from the start: wall clock or offset."""
    spans: list[Span] = []
    first = start.hour * 3600 + start.minute * 60 + start.second
    for hour, minute, second, half in TIME.findall(answer)[:2]:
        hours = int(hour) % 12 + (12 if half.lower() == "p" else 0) if half else int(hour)
        at = hours * 3600 + int(minute) * 60 + int(second or 0)
        length = 0.0 if second else 59.0
        spans += [((at - first) % 86400, (at - first) % 86400 + length), (at, at + length)]
        if not second:
            spans.append((int(hour) * 60 + int(minute),) * 2)
    for minute, second in SPELT.findall(answer)[:1]:
        spans.append((int(minute) * 60 + int(second or 0),) * 2)
    return spans


def gap(a: Span, b: Span) -> float:
    """Seconds between two intervals, 0 if they touch."""
    return max(0.0, a[0] - b[1], b[0] - a[1])


def number_in(answer: str) -> int | None:
    """The first number in an answer that is no time of day."""
    bare = TIME.sub(" ", answer).lower()
    for word in re.findall(r"[a-z]+|\d+", bare):
        if word.isdigit():
            return int(word)
        if word in ("once", "twice", "never", "none", "no"):
            return {"once": 1, "twice": 2}.get(word, 0)
        if word in WORDS:
            return WORDS.index(word)
    return None


def yes_in(answer: str) -> bool | None:
    """True for yes, False for no, None for neither."""
    found = re.search(r"\b(yes|yeah|no|not|never)\b", answer.lower())
    return found.group(1) in ("yes", "yeah") if found else None


def is_right(question: Question, reply: dict[str, Any], start: datetime, evidence: tuple[Span, ...]) -> bool:
    """Whether this reply answers the question; abstaining is right only if there is no answer, or the answer is no."""
    if reply["status"] == "abstained":
        return not question.answerable or question.yes is False
    if reply["status"] != "answered" or not question.answerable:
        return False
    answer = str(reply.get("answer") or "")
    said = any(contains(answer, wanted) for wanted in question.accept)
    first = any(gap(evidence[0], span) <= TOLERANCE_S for span in question.spans) if evidence else False
    near = [gap(time, span) <= TOLERANCE_S for time in seconds_in(answer, start) for span in question.spans]
    rules = {
        "text": said,
        "place": said or first,
        "time": any(near),
        "count": number_in(answer) == question.count,
        "yesno": yes_in(answer) == question.yes,
        "option": reply.get("option") == question.option,
    }
    return rules[question.check]


def judge(truth: Truth, question: Question, reply: dict[str, Any], ms: float) -> Result:
    """Score one reply (the JSON of `edgemem ask`, or a status with nothing else)."""
    start = datetime.fromisoformat(truth.start.replace("Z", "+00:00"))
    evidence = tuple((_seconds(item["t0"], start), _seconds(item["t1"], start)) for item in reply.get("evidence", [])[:TOP])
    gaps = [min((gap(item, span) for span in question.spans), default=1e9) for item in evidence]
    return Result(
        truth.seed, question.id, question.kind, question.text, question.difficulty, question.answerable,
        question.yes is False, reply["status"], str(reply.get("answer") or ""), is_right(question, reply, start, evidence),
        float(reply.get("confidence") or 0.0), tuple(min(gaps, default=1e9) <= within for within in WITHIN_S),
        gaps[0] <= TOLERANCE_S if gaps else None, ms, evidence, question.spans,
    )  # fmt: skip


def _seconds(iso: str, start: datetime) -> float:
    return (datetime.fromisoformat(iso.replace("Z", "+00:00")) - start).total_seconds()


def summary(results: list[Result]) -> dict[str, dict[str, float]]:
    """Per kind and in total, in percent unless stated otherwise; kinds of unanswerable questions form one row."""
    kinds: dict[str, list[Result]] = {}
    for result in results:
        kinds.setdefault(result.kind if result.answerable else "unanswerable", []).append(result)
    table = {kind: _row(rows) for kind, rows in sorted(kinds.items())}
    table["all"] = _row(results)
    table["all"]["abstention_f1"] = abstention_f1(results)
    return table


def abstention_f1(results: list[Result]) -> float:
    """F1 of abstaining as a detector of unanswerable questions; abstaining instead of a right "no" is not counted."""
    clear = [r for r in results if not r.silent_ok]
    hits = sum(r.status == "abstained" and not r.answerable for r in clear)
    silent = sum(r.status == "abstained" for r in clear)
    wanted = sum(not r.answerable for r in clear)
    return round(200 * hits / (silent + wanted), 1) if silent + wanted else 100.0


def _row(rows: list[Result]) -> dict[str, float]:
    located = [r for r in rows if r.spans]
    answered = [r for r in rows if r.status == "answered"]
    row = {"n": float(len(rows)), "right": _percent([r.right for r in rows])}
    for n, within in enumerate(WITHIN_S):
        row[f"recall@{within}s"] = _percent([r.near[n] for r in located])
    row["top1"] = _percent([bool(r.top1) for r in located])
    row["abstained"] = _percent([r.status == "abstained" for r in rows])
    row["failed"] = _percent([r.status == "failed" for r in rows])
    row["brier"] = round(sum((r.confidence - r.right) ** 2 for r in answered) / max(1, len(answered)), 3)
    row["ms"] = round(sum(r.ms for r in rows) / max(1, len(rows)), 1)
    return row


def _percent(flags: list[bool]) -> float:
    return round(100 * sum(flags) / len(flags), 1) if flags else float("nan")


def as_table(table: dict[str, dict[str, float]]) -> str:
    """The summary as aligned text; the last line is the abstention F1."""
    names = [name for name in table["all"] if name != "abstention_f1"]
    lines = [f"{'kind':14}" + "".join(f"{name:>11}" for name in names)]
    for kind, row in table.items():
        lines.append(f"{kind:14}" + "".join(f"{'-' if row[name] != row[name] else f'{row[name]:g}':>11}" for name in names))
    return "\n".join([*lines, f"abstention F1 {table['all']['abstention_f1']:g}"])
