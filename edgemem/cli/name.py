"""`edgemem name`: name a voice or a thing, or remove its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import (
    CommandContext,
    common_options,
    json_option,
    memory_option,
    note,
    pass_environment,
    print_json,
    print_line,
    progress,
)
from edgemem.errors import UsageError, nearest

if TYPE_CHECKING:
    from edgemem.remember.view import View
    from edgemem.serve.messages import ThingReply

MOST_CHARS = 100
_VOICE = re.compile(r"(?:speaker)?[: ]?(\d{1,9})", re.IGNORECASE)


@click.command()
@click.argument("what", metavar="speaker:N|mN|FILE|THING")
@click.argument("name", required=False)
@memory_option
@click.option("--box", metavar="x0,y0,x1,y1", help="Where in the picture the thing is, in pixels or as fractions of width and height.")
@click.option("--undo", is_flag=True, help="Remove the name: the voice has only a number again, the thing is not known any more.")
@json_option
@common_options
@pass_environment
def name(environment: CommandContext, what: str, name: str | None, memory: Path, box: str | None, undo: bool, as_json: bool) -> None:
    """Name the voice speaker:N, or the thing that the moment mN or the picture FILE shows.

    From now on all utterances of that voice, old and new, belong to NAME; questions as of an earlier time still show the number. Several
    voices may be one person. A new name replaces an earlier one.

    A thing is found again in what is remembered and in what comes: edgemem name m12 "my keys". Best is a picture that it fills, at a place
    that was seen just before or after without it; --box says where it is. Remove the name with: edgemem name m12 --undo, or THING --undo.
    """
    if _VOICE.fullmatch(what.strip()):
        if box is not None:
            raise UsageError("--box is for things; a voice has none")
        _name_voice(environment, what, name, memory, undo=undo, as_json=as_json)
    else:
        _name_thing(environment, what, name, memory, box, undo=undo, as_json=as_json)


def _name_voice(environment: CommandContext, voice: str, name: str | None, memory: Path, *, undo: bool, as_json: bool) -> None:
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
        print_line(f"{own_name} is {wanted}: {count}; undo this with: edgemem name speaker:{number} --undo --memory {memory}")
    else:
        print_line(f"{own_name} is a number again: {count}")


def _number(voice: str) -> int:
    match = _VOICE.fullmatch(voice.strip())
    assert match is not None
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


def _name_thing(
    environment: CommandContext, what: str, name: str | None, memory: Path, box: str | None, *, undo: bool, as_json: bool
) -> None:
    from edgemem.remember.administration import open_view
    from edgemem.serve.rendering import thing_json

    if undo == (name is not None):
        raise UsageError('give either a name, such as: edgemem name m12 "my keys", or --undo')
    if undo and box is not None:
        raise UsageError("--box belongs to a name that is given, not to --undo")
    open_view(memory).close()
    moment = re.fullmatch(r"m(\d{1,18})", what)
    if not (moment or undo or Path(what).is_file()):
        raise UsageError(f'"{what}" is nothing that can be named: give speaker:3, a moment such as m12, or a picture file that is there')
    shown: int | str | None = int(moment[1]) if moment else None if undo else what
    with progress() as advance:
        reply = environment.memory(memory).name_thing(
            shown, (name or "") if not undo or moment else what, box=_box(box), undo=undo,
            progress=lambda done, total: advance("looking again at moments that were kept without vectors of their parts", done, total),
        )  # fmt: skip
    if as_json:
        print_json(thing_json(reply))
    else:
        _print_thing(environment, reply, what, memory, undo=undo)


def _print_thing(environment: CommandContext, reply: ThingReply, what: str, memory: Path, *, undo: bool) -> None:
    from edgemem.answer.compose import at

    where = f"; last {at(reply.evidence[0], environment.settings.timezone)}" if reply.evidence else ""
    times = f"seen again in {reply.found} moment{'' if reply.found == 1 else 's'}{where}" if reply.found else "not seen anywhere else yet"
    if undo:
        print_line(f"taken back: {what} is not {reply.name}{'; ' + times if reply.found else ''}")
        return
    print_line(
        f"m{reply.moment_id} shows {reply.name}: {times}; take it back with: edgemem name m{reply.moment_id} --undo --memory {memory}"
    )
    if reply.unsearched:
        note(f"note: {reply.unsearched} moments were kept without vectors of their parts and are looked at when the board is idle")


def _box(text: str | None) -> tuple[float, float, float, float] | None:
    if text is None:
        return None
    try:
        x0, y0, x1, y1 = (float(side) for side in text.split(","))
    except ValueError:
        raise UsageError("--box: give left,top,right,bottom, such as 120,80,400,310 in pixels or 0.2,0.1,0.6,0.5") from None
    return x0, y0, x1, y1
