"""A session in words: what was asked of which tool, what it found, what it cost, what a check refused, and why it ended.

The text is made from the session as it is stored. So an old session reads like a new one, whichever planner ran it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.answer.tools import Reply
from edgemem.characters import visible
from edgemem.clock import to_local
from edgemem.llm.calls import Call, restored, stored
from edgemem.remember.entries import NewSession, NewStep
from edgemem.remember.rows.reading import FOREVER_US

if TYPE_CHECKING:
    from edgemem.answer.session import Session, Step
    from edgemem.records import Answer

KEPT = 8
"""Of what a step brought, so many pieces are kept with their words; the ids of all are."""
_SHORT = 100
"""Letters of a quote in the story."""

Plain = Mapping[str, Any]


def log_of(session: Session, answer: Answer, recipe: str, planner: str) -> NewSession:
    """The session as it is stored. Its last step is the answer itself, with what it cites."""
    told = tuple(_stored(step, planner) for step in session.steps)
    cited = tuple(item.id for item in answer.evidence)
    last = Reply(
        text=answer.answer[:4000], status=answer.status, option=answer.option, confidence=answer.confidence, evidence=cited,
        named=answer.named,
    )  # fmt: skip
    cites = {"evidence": answer.evidence[:KEPT], "begins": not session.before}
    return NewSession(
        question=answer.question, recipe=recipe, planner=planner, asked_us=session.question.asked_us, as_of_us=session.question.as_of_us,
        status=answer.status, answer=answer.answer, option=answer.option, confidence=answer.confidence, notes=answer.notes,
        tokens_in=answer.usage.tokens_in, tokens_out=answer.usage.tokens_out, ms=answer.usage.ms,
        usd=sum(call.usd for call in session.calls), calls=tuple(stored(call) for call in session.calls),
        steps=(*told, NewStep(actor=planner, action_json=_json(last), result_json=_json(cites), ms=0.0)),
        evidence=tuple(session.evidence()),
    )  # fmt: skip


def step_text(step: Step, planner: str, tz: str) -> str:
    """One step in one line, as `trace_text` says it, times in `tz`. Never raises."""
    return _step_line(_stored(step, planner), tz)


def _stored(step: Step, planner: str) -> NewStep:
    return NewStep(actor=planner, action_json=_json(step.action), result_json=_json(_brief(step.result)), ms=step.ms)


def _json(data: object) -> str:
    """An array of a plugin's result says nothing in a story; what cannot be written at all must not cost the answer."""
    try:
        return msgspec.json.encode(data, enc_hook=lambda _: None).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return '{"action":"unreadable"}'


def _brief(result: object) -> Plain:
    """A result without its bulk: the first of every list, and how many there were."""
    try:
        plain = msgspec.to_builtins(result, enc_hook=lambda _: None)
    except (TypeError, ValueError, RecursionError):
        return {}
    if not isinstance(plain, dict):
        return {"result": plain}
    counts = {key: len(value) for key, value in plain.items() if isinstance(value, Sequence) and not isinstance(value, str)}
    return {key: value[:KEPT] if key in counts else value for key, value in plain.items()} | {"counts": counts}


# ------------------------------------------------------------------------------------------------------------------- the story


def trace_text(log: NewSession, tz: str) -> str:
    """One line for a step, times in `tz`; no name or text makes lines of its own. Never raises: what it does not know, it says as is."""
    calls = [restored(call) for call in log.calls]
    as_of = "" if log.as_of_us >= FOREVER_US else f", as of {_time(log.as_of_us, tz)}"
    lines = [f'"{_short(log.question)}", asked {_time(log.asked_us, tz)}{as_of}; recipe {log.recipe}, planner {log.planner}']
    for number, step in enumerate(log.steps, 1):
        lines += [_call_line(call) for call in calls if call.step == number]
        lines.append(f"{number}. {_step_line(step, tz)}")
    lines += [_call_line(call) for call in calls if call.step > len(log.steps)]
    lines.append(_end_line(log, len(calls)))
    return "\n".join(map(visible, (*lines, *(f"   note: {note}" for note in log.notes))))


def _step_line(step: NewStep, tz: str) -> str:
    action, result = (_decoded(text) for text in (step.action_json, step.result_json))
    if action.get("action") == "answer":
        return _reply_line(action, result)
    return f"{_action(action, tz)}: {_result(result, tz)} ({step.ms:.0f} ms)"


def _decoded(text: str) -> Plain:
    data = msgspec.json.decode(text)
    return data if isinstance(data, dict) else {"": data}


def _reply_line(action: Plain, result: Plain) -> str:
    option = f", option {action['option']}" if action.get("option") is not None else ""
    cites = ", ".join(action.get("evidence") or ()) or "nothing"
    status = action.get("status", "answered")
    said = f'{status}: "{_short(action.get("text", ""))}"{option}, {"citing" if status == "answered" else "having looked at"} {cites}'
    return f"{said}; refused: {result['why']}" if result.get("why") else said


def _action(action: Plain, tz: str) -> str:
    """Such as `search "red mug" (channel frame) from 08:00:00 to 09:00:00`."""
    about = next((str(action[key]) for key in ("query", "q", "question", "name", "about") if action.get(key)), "")
    span = " ".join(
        f"{word} {_time(action[key], tz)}" for word, key in (("from", "from_us"), ("to", "to_us")) if action.get(key) is not None
    )
    told = {"action", "query", "q", "question", "name", "about", "from_us", "to_us"}
    others = (_named(key, value, tz) for key, value in action.items() if key not in told and value not in (None, "", (), [], {}))
    more = ", ".join(others)
    parts = (str(action.get("action", "step")), f'"{_short(about)}"' if about else "", f"({more})" if more else "", span)
    return " ".join(part for part in parts if part)


def _named(key: str, value: object, tz: str) -> str:
    return f"{key[:-3]} {_time(value, tz)}" if key.endswith("_us") and isinstance(value, int) else f"{key} {_value(value)}"


def _result(result: Plain, tz: str) -> str:
    if result.get("why"):
        return f"refused: {result['why']}"
    counts = result.get("counts") or {}
    parts = [_evidence(result.get("evidence") or (), counts.get("evidence", 0), tz)]
    parts += [f"{result['count']} counted"] if result.get("count") else []
    parts += [f"surely {result['confidence']:.2f}"] if result.get("confidence") else []
    parts += [f"saw {_names(result['sights'])}"] if result.get("sights") else []
    known = {"limits", "why", "counts", "evidence", "count", "confidence", "sights", "readings", "episodes", "searched", "notes"}
    parts += [f"{number} {key}" for key, number in counts.items() if key not in known and number]
    said = [note for key in ("limits", "notes") for note in result.get(key) or () if isinstance(note, str)]
    return "; ".join([*parts, *map(_short, said)])


def _evidence(items: Iterable[Plain], total: int, tz: str) -> str:
    if not total:
        return "nothing"
    told = [
        f"{one.get('id')} at {_time(one.get('t0_us', 0), tz)}" + (f' "{_short(one["text"], 40)}"' if one.get("text") else "")
        for one in islice(items, 3)
    ]
    return f"{total} found: {', '.join(told)}{' ...' if total > len(told) else ''}"


def _names(sights: Iterable[Plain]) -> str:
    return ", ".join(f"{one.get('name')} {one.get('score', 0):.2f}" for one in islice(sights, 5))


def _call_line(call: Call) -> str:
    pictures = f", {call.pictures} pictures" if call.pictures else ""
    cost = f"{call.tokens_in} tokens in, {call.tokens_out} out{pictures}, {call.ms:.0f} ms"
    said = f"failed: {call.error}" if call.error else f'said "{_short(call.reply)}"'
    return f"   {call.task} ({call.model or 'language model'}, {cost}) {said}"


def _end_line(log: NewSession, calls: int) -> str:
    tokens = f", {calls} calls of a language model with {log.tokens_in} tokens in and {log.tokens_out} out" if calls else ""
    money = f", {log.usd:.4f} USD" if log.usd else ""
    return f"{log.status} with confidence {log.confidence:.2f} after {len(log.steps)} steps, {log.ms:.0f} ms{tokens}{money}"


def _time(t_us: Any, tz: str) -> str:
    try:
        return to_local(int(t_us), tz).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, TypeError):
        return str(t_us)  # a planner may name any number


def _value(value: object) -> str:
    return _short(value if isinstance(value, str) else msgspec.json.encode(value).decode(), 60)


def _short(text: object, limit: int = _SHORT) -> str:
    flat = " ".join(str(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
