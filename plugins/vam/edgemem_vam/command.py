"""`edgemem habits`: what is stored of the user's habits, and what a language model makes of the conversations in the session log."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from edgemem.cli.app import (
    CommandContext,
    common_options,
    json_option,
    memory_option,
    pass_environment,
    print_json,
    print_line,
    print_lines,
)
from edgemem.clock import to_iso


@click.command()
@memory_option
@click.option("--last", type=click.IntRange(1, 100), default=3, show_default=True, help="How many conversations, the latest.")
@json_option
@common_options
@pass_environment
def habits(environment: CommandContext, memory: Path, last: int, as_json: bool) -> None:
    """What was talked about lately, and which habits your own words show: those that are stored, and those of the last conversations.

    Habits are stored by `edgemem run` when a conversation is over (writer `vam_conversations` of the recipe `vam`). This command stores
    none.
    """
    from edgemem.remember.administration import open_view
    from edgemem_vam.actions import Exchange
    from edgemem_vam.conversation import conversations, known_habits, summarise

    with open_view(memory) as view:
        heads, stored = view.sessions(20 * last), known_habits(view)
    exchanges = [Exchange(asked_us=head.asked_us, question=head.question, answer=head.answer) for head in heads]
    found = [summarise(talk, environment.context.models) for talk in conversations(exchanges)[-last:]]
    if as_json:
        print_json({"stored": msgspec.to_builtins(stored), "conversations": [msgspec.to_builtins(one) for one in found]})
        return
    for habit in stored:
        print_line(f'stored habit: {habit.habit} ("{habit.quote}")')
    for one in found:
        print_line(to_iso(one.t0_us))
        print_lines(f"  {one.event_document}", "  ")
        for habit in one.habits:
            print_line(f'  habit: {habit.habit} ("{habit.quote}")')
        if one.note:
            print_line(f"  ({one.note})")
    if not found:
        print_line("nothing was asked yet")
