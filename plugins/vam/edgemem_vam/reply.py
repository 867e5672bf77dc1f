"""From the planner's words to an answer with evidence: best_ref and its fallback, options, what counts as "not found" (VAM section 3.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgemem.answer.compose import quote, time_text
from edgemem.answer.tools import Reply
from edgemem_vam.context import RetrievalContext, TurnResult
from edgemem_vam.wire import AnswerAction

ANSWER_CHARS = 4000
"""Of an answer (`answer.tools.Reply`)."""
FALLBACK_HITS = 5
"""Hits that an answer without the model names (VAM)."""
_EVIDENCE = 5
_HEAD = re.compile(r"^\[event\] id=\S+ \| frames=\S* \| [\d:]+ to [\d:]+\s+(?:\(put together[^)\n]*\)\s+)?(?:\[[\d:]+ to [\d:]+\]\s+)?")
"""What an event document begins with for the planner: nothing for people."""
_NOT_FOUND = re.compile(
    r"^\W*(?:(?:i['’]?m sorry|i am sorry|sorry|unfortunately|but)\b\W*)*(?:not found\b"
    r"|no (?:relevant |such |visual |direct |matching )?(?:evidence|result|record|footage|frames?|information)\b"
    r"|(?:i|we) (?:could|can|did|was|were|am|do) ?(?:not|n['’]t|unable)\b|(?:i|we) (?:cannot|can['’]t)\b"
    r"|(?:(?:i['’]m|we['’]re) )?unable to|insufficient evidence"
    r"|there (?:is|was) (?:no|not enough|insufficient) evidence|the memory (?:does not|doesn['’]t|holds no|shows no))",
    re.IGNORECASE,
)


def answer(said: AnswerAction, context: RetrievalContext, options: Sequence[str]) -> Reply:
    """The model's answer. Evidence: the result it names, else the best scored one, then the pictures it was inspected by."""
    named = context.resolve(said.best_ref)
    notes: tuple[str, ...] = ()
    if named is None and context.results():
        named = context.results()[0]
        if said.best_ref is not None:
            notes = ("the model named a result that does not exist; the best scored one stands for it",)
    whole = said.response.strip()
    text, option = whole[:ANSWER_CHARS], pick_option(whole, options)
    if len(whole) > ANSWER_CHARS:
        notes = (*notes, f"the answer was cut after {ANSWER_CHARS} of {len(whole)} characters")
    if named is None or _NOT_FOUND.match(text):
        return Reply(text=text, status="abstained", confidence=0.0, notes=(*notes, *([] if named else ["nothing was found"])))
    status = "answered" if context.found else "abstained"
    sure = confidence(named, context)
    return Reply(text=text, status=status, option=option, confidence=sure, evidence=cited(named, context), notes=notes)  # type: ignore[arg-type]


def from_hits(context: RetrievalContext, why: str, options: Sequence[str] = ()) -> Reply:
    """An answer without the model: the five best hits and the last finding, or that nothing was found. Of options the one whose words they
    hold, where that is only one.
    """
    best = context.results()[:FALLBACK_HITS]
    if not best or not context.found:
        return Reply(text="I found nothing that proves an answer.", status="abstained", confidence=0.0, notes=(why,))
    parts = [f"{time_text(hit.evidence.t0_us, context.tz)}: {quote(_HEAD.sub('', hit.row.passage or hit.row.text), 120)}" for hit in best]
    findings = [finding.text for turn in context.turns for finding in turn.findings][-1:]
    looked = f" Looked at closely: {quote(findings[0], 300)}." if findings else ""
    return Reply(
        text=f"The best evidence found: {'; '.join(parts)}.{looked}",
        status="answered",
        option=_held_option(" ".join([*findings, *(hit.row.text for hit in best)]), options),
        confidence=round(0.5 * confidence(best[0], context), 4),
        evidence=tuple(dict.fromkeys(hit.row.id for hit in best)),
        notes=(why,),
    )


def confidence(result: TurnResult, context: RetrievalContext) -> float:
    """How surely the result that proves the answer shows it, as the inspector or else its score says, within 0.05 to 0.95."""
    return round(min(0.95, max(0.05, context.confidence(result))), 4)


def cited(result: TurnResult, context: RetrievalContext) -> tuple[str, ...]:
    """The result, then the pictures that an inspection of it looked at."""
    looked = [
        f"m{moment_id}"
        for turn in context.turns
        for finding in turn.findings
        if result.row.id in finding.targets
        for moment_id in finding.moment_ids
    ]
    return tuple(dict.fromkeys([result.row.id, *looked]))[:_EVIDENCE]


def pick_option(response: str, options: Sequence[str]) -> int | None:
    """The option that an answer names: by its letter at the start ("B", "(b)", "B."), by its number ("option 2"), else by its words."""
    text = response.strip()
    if not options:
        return None
    if (letter := re.match(r"^\(?([A-Za-z])\)?(?:[.:,)\s]|$)", text)) and ord(letter[1].upper()) - 65 < len(options):
        whole_word = re.match(r"^(?:a|i)\s", text, re.IGNORECASE)  # "a red mug" and "I saw" begin with a word, not with a letter
        if not whole_word:
            return ord(letter[1].upper()) - 65
    number = re.match(r"^\(?(option\s+)?(\d{1,2})(?:\)|(?=[.:,](?:\s|$)|\s*$)|(?(1)\b|$))", text, re.IGNORECASE)
    if number and 1 <= int(number[2]) <= len(options):
        said = any(number[2] in _words(option).split() for option in options)  # "3" of "2", "3" and "4" is what it says
        if number[1] or not said:
            return int(number[2]) - 1
    return _held_option(text, options)


def _held_option(text: str, options: Sequence[str]) -> int | None:
    """The option whose words a text holds; None where it holds none, or several that are not parts of one."""
    said = _words(text)
    held = [index for index, option in enumerate(options) if f" {_words(option).strip()} " in said]
    longest = sorted(held, key=lambda index: -len(options[index]))
    nested = len(longest) > 1 and all(_words(options[index]).strip() in _words(options[longest[0]]) for index in longest[1:])
    return longest[0] if len(longest) == 1 or nested else None


def letters(options: Sequence[str]) -> list[str]:
    """Options as the planner reads them."""
    return [f"{chr(65 + index) if index < 26 else index + 1}) {option}" for index, option in enumerate(options)]


def _words(text: str) -> str:
    return " " + " ".join(re.findall(r"[^\W_]+", text.casefold())) + " "
