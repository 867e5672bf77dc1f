"""`edgemem ask`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, note, pass_environment, print_json
from edgemem.cli.evidence import print_evidence
from edgemem.records import Answer

if TYPE_CHECKING:
    from edgemem.serve.memory import TracedAnswer


@click.command()
@click.argument("question")
@memory_option
@click.option("--as-of", metavar="ISO8601", help="Answer as of this time: nothing that became known later is read.")
@click.option("--option", "options", multiple=True, metavar="TEXT", help="One of the possible answers. Repeatable.")
@click.option("--recipe", default="", metavar="NAME", help="Recipe for answering (default: the one of the settings).")
@click.option("--planner", default="", metavar="NAME", help="Planner for reasoning (default: the one of the recipe).")
@click.option("--session", "follows", default="", metavar="ID|last", help="The session that this question continues.")
@click.option("--trace", is_flag=True, help="Also print step by step how the answer was found; with --json on stderr.")
@json_option
@common_options
@pass_environment
def ask(
    environment: CommandContext,
    question: str,
    memory: Path,
    as_of: str | None,
    options: tuple[str, ...],
    recipe: str,
    planner: str,
    follows: str,
    trace: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION from the memory, with evidence. Exit code 3: there is no evidence for an answer."""
    asked = environment.memory(memory).ask_traced(
        question, options=options, as_of=as_of, recipe=recipe, planner=planner, session=follows, trace=trace
    )
    try:
        _print(asked, environment.settings.timezone, trace=trace, as_json=as_json)
    finally:  # also if the reader of our output ended early: a later question may continue this one
        not_logged = asked.log()
    if not_logged and trace:
        note(f"note: this trace was not stored: {not_logged}")
    if asked.answer.status != "answered":
        raise click.exceptions.Exit(3)


def _print(asked: TracedAnswer, tz: str, *, trace: bool, as_json: bool) -> None:
    """Print the answer, its trace if requested, and the notes."""
    from edgemem.serve.rendering import answer_json

    if as_json:
        print_json(answer_json(asked.answer))
    else:
        _print_answer(asked.answer, tz)
    if trace:
        click.echo(asked.trace, err=as_json)
    for text in (*asked.answer.notes, *asked.notes):
        note(f"note: {text}")
    sys.stdout.flush()


def _print_answer(answer: Answer, tz: str) -> None:
    click.echo(answer.answer)
    if answer.option is not None:
        click.echo(f"option {answer.option}")
    click.echo(f"{answer.status}, confidence {answer.confidence:.2f}, {answer.steps} steps, {answer.usage.ms:.0f} ms")
    print_evidence(answer.evidence, tz)
