"""`edgemem name`: name a voice, or remove its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, pass_environment, print_json
from edgemem.errors import UsageError, nearest

if TYPE_CHECKING:
    from edgemem.remember.view import View

MOST_CHARS = 100


@click.command()
@click.argument("voice", metavar="speaker:N")
@click.argument("name", required=False)
@memory_option
@click.option("--undo", is_flag=True, help="Remove the name: the voice has only a number again.")
@json_option
@common_options
@pass_environment
def name(environment: CommandContext, voice: str, name: str | None, memory: Path, undo: bool, as_json: bool) -> None:
    """Name the voice speaker:N. From now on all its utterances, old and new, belong to NAME; questions as of an earlier time still show the
    number.

    Several voices may be one person. A new name replaces an earlier one.
    """
    from edgemem.remember.administration import open_view
    from edgemem.serve.rendering import named_json

    number, wanted = _number(voice), _wanted(name, undo=undo)
    own_name = f"speaker {number}"
    with open_view(memory) as view:
        _require(view, own_name, memory)
    number_of = environment.memory(memory).name_voice(number, wanted)
    count = f"{number_of} utterance{'' if number_of == 1 else 's'}"
    if as_json:
        print_json(named_json(number, wanted, number_of))
    elif wanted:
        click.echo(f"{own_name} is {wanted}: {count}; undo this with: edgemem name speaker:{number} --undo --memory {memory}")
    else:
        click.echo(f"{own_name} is a number again: {count}")


def _number(voice: str) -> int:
    match = re.fullmatch(r"(?:speaker)?[: ]?(\d{1,9})", voice.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(f'"{voice}" is not a speaker; write it like speaker:3, as answers and the timeline name them')
    return int(match[1])


def _wanted(name: str | None, *, undo: bool) -> str:
    if undo == (name is not None):
        raise UsageError('give either a name, such as: edgemem name speaker:3 "Tomas", or --undo')
    cleaned = " ".join((name or "").split())
    if not undo and (not re.search(r"\w", cleaned) or len(cleaned) > MOST_CHARS or re.fullmatch(r"speaker \d+", cleaned, re.IGNORECASE)):
        raise UsageError(f"a name has 1 to {MOST_CHARS} characters and is not itself a speaker's number")
    return cleaned


def _require(view: View, own_name: str, memory: Path) -> None:
    if view.entities(name=own_name):
        return
    known = [entity.name for entity in view.entities(kind="voice", limit=50)]
    heard = known or view.utterances(limit=1)
    raise UsageError(f'{memory} has heard no "{own_name}"{nearest(own_name, known) if heard else ": no voice was heard yet"}')
