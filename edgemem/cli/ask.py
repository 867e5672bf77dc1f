"""`edgemem ask`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import (
    CommandContext,
    FilePath,
    common_options,
    json_option,
    memory_option,
    note,
    pass_environment,
    print_json,
    print_line,
    print_lines,
)
from edgemem.cli.evidence import print_evidence
from edgemem.errors import UsageError
from edgemem.records import US, Answer

if TYPE_CHECKING:
    from edgemem.extend.feed import Subscription
    from edgemem.serve.memory import Memory, TracedAnswer

_PRINT_S = 2.0
"""For the steps that wait to be printed when the answer is there."""


@click.command()
@click.argument("question", required=False)
@memory_option
@click.option("--spoken", type=FilePath(exists=True, dir_okay=False), metavar="FILE", help="Sound of the question, in place of QUESTION.")
@click.option("--as-of", metavar="ISO8601", help="Answer as of this time: nothing that became known later is read.")
@click.option("--option", "options", multiple=True, metavar="TEXT", help="One of the possible answers. Repeatable.")
@click.option("--recipe", default="", metavar="NAME", help="Recipe to answer with (default: the settings').")
@click.option("--planner", default="", metavar="NAME", help="Planner to reason with (default: the recipe's).")
@click.option("--session", "follows", default="", metavar="ID|last", help="The session that this question goes on about.")
@click.option("--steps", is_flag=True, help="Print each step on stderr as soon as it is done.")
@click.option("--trace", is_flag=True, help="Also print step by step how the answer was found; with --json on stderr.")
@json_option
@common_options
@pass_environment
def ask(
    environment: CommandContext,
    question: str | None,
    memory: Path,
    spoken: Path | None,
    as_of: str | None,
    options: tuple[str, ...],
    recipe: str,
    planner: str,
    follows: str,
    steps: bool,
    trace: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION from the memory, with the evidence that proves it. Exit code 3: no answer could be proved."""
    if question is None and spoken is not None:
        question = _heard(environment, spoken)
    elif question is None or spoken is not None:
        raise UsageError('give one question, in words ("where did I leave my keys?") or as sound (--spoken FILE)')
    opened = environment.memory(memory)
    with _steps_printed(opened) if steps else nullcontext():
        asked = opened.ask_traced(question, options=options, as_of=as_of, recipe=recipe, planner=planner, session=follows, trace=trace)
    try:
        _print(asked, environment.settings.timezone, trace=trace, as_json=as_json)
    finally:  # also if the reader of our output ended early: a later question may continue this one
        not_logged = asked.log()
    if not_logged and trace:
        note(f"note: this trace was not stored: {not_logged}")
    if asked.answer.status != "answered":
        raise click.exceptions.Exit(3)


def _heard(environment: CommandContext, file: Path) -> str:
    """The question in a sound file. It is printed as it was heard, because it may be misheard."""
    import numpy as np

    from edgemem.see.sources.sound import SoundFile

    if problem := environment.engines.missing("transcribe"):
        raise UsageError(f"no speech can be recognised: {problem}")
    sounds = takewhile(lambda sound: sound.offset_us < _SPOKEN_S * US, SoundFile(str(file), stream="question").sounds())
    samples = np.concatenate([np.zeros(0, np.float32), *(sound.samples for sound in sounds)])
    phrase = environment.engines.role("transcribe").transcribe(samples, language="en")
    text: str = phrase.text.strip()
    if not text or phrase.no_speech > _SILENT:
        raise UsageError(f"{file}: no question was heard in its first {_SPOKEN_S} s; ask in writing or record it again")
    note(f'heard: "{text}"')
    return text


_SPOKEN_S = 30
"""Longest sound that a recogniser takes at a time."""
_SILENT = 0.6
"""Probability of no speech from which on Whisper's own decoder leaves a piece out."""


@contextmanager
def _steps_printed(memory: Memory) -> Iterator[None]:
    """Each step is printed as soon as it is done, until the block ends."""
    from edgemem.events import QuestionStep

    with memory.subscribe(QuestionStep) as subscription:
        printing = threading.Thread(target=_print_steps, args=(subscription,), name="edgemem-steps", daemon=True)
        printing.start()
        yield
    printing.join(_PRINT_S)


def _print_steps(subscription: Subscription) -> None:
    from edgemem.events import QuestionStep

    for event in subscription:
        if isinstance(event, QuestionStep):
            note(f"{event.number}. {event.line}")


def _print(asked: TracedAnswer, tz: str, *, trace: bool, as_json: bool) -> None:
    """Print the answer, its trace if requested, and the notes."""
    from edgemem.serve.rendering import answer_json

    if as_json:
        print_json(answer_json(asked.answer))
    else:
        _print_answer(asked.answer, tz)
    if trace:
        print_lines(asked.trace, err=as_json)
    for text in (*asked.answer.notes, *asked.notes):
        note(f"note: {text}")
    sys.stdout.flush()


def _print_answer(answer: Answer, tz: str) -> None:
    print_lines(answer.answer, "  ")
    if answer.option is not None:
        print_line(f"option {answer.option}")
    print_line(f"{answer.status}, confidence {answer.confidence:.2f}, {answer.steps} steps, {answer.usage.ms:.0f} ms")
    print_evidence(answer.evidence, tz)
