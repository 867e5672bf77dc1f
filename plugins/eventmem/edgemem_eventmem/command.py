"""`edgemem trajectories`: how questions were answered, as training data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
import msgspec

from edgemem_eventmem.formats import Format

if TYPE_CHECKING:
    from edgemem.extend import View
    from edgemem_eventmem.trajectory import Trajectory, Truth

_MOST_TRUTHS_BYTES = 64 << 20


@click.command()
@click.option("--memory", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The memory's directory.")
@click.option("--format", "form", type=click.Choice(get_args(Format)), default="trl", show_default=True, help="For which library.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="JSON Lines file to write.")
@click.option("--truth", type=click.Path(path_type=Path, dir_okay=False), help="JSON list of questions with their answers, for rewards.")
@click.option("--planner", default="react", show_default=True, help="Only sessions of this planner.")
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False), help="Write the pictures that were shown into this folder.")
@click.option("--split", default="train", show_default=True, help="Name of the split, for verl.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def trajectories(  # noqa: PLR0913, PLR0917 - one parameter for each option
    memory: Path, form: Format, out: Path, truth: Path | None, planner: str, pictures: Path | None, split: str, as_json: bool
) -> None:
    """Write how questions were answered as training data for TRL, ms-swift or verl."""
    from edgemem.extend import open_view, print_json, print_line, require_outside
    from edgemem_eventmem.trajectory import export, trajectory, with_advantages

    for target in filter(None, (out, pictures)):
        require_outside(memory, target)
    truths = read_truths(truth) if truth is not None else {}
    with open_view(memory) as view:
        logs = [view.session(head.id) for head in reversed(view.sessions()) if head.planner == planner]
        found = with_advantages(trajectory(log, truths.get(log.question)) for log in logs if log is not None)
        files = _write_pictures(view, found, pictures) if pictures is not None else {}
    rows = export(found, form, split, files)
    _write(out, rows)
    rewarded = [one.reward for one in found if one.reward is not None]
    mean = sum(rewarded) / len(rewarded) if rewarded else None
    if as_json:
        print_json({"trajectories": len(found), "rows": len(rows), "pictures": len(files), "reward": mean})
        return
    said = "" if mean is None else f", mean reward {mean:.2f} over {len(rewarded)}"
    print_line(f"{out}: {len(rows)} rows from {len(found)} trajectories{said}")


def read_truths(path: Path) -> dict[str, Truth]:
    """The right answers by question. Keys that are not known here are left alone. Raises UsageError."""
    from edgemem.extend import UsageError, read_file

    try:
        listed = msgspec.json.decode(read_file(path, _MOST_TRUTHS_BYTES), type=list[dict[str, Any]])
        return {truth.question: truth for truth in map(_truth, listed)}
    except (OSError, msgspec.MsgspecError, KeyError) as error:
        raise UsageError(f"{path}: not a JSON list of questions with their answers ({error})") from None


def _truth(row: dict[str, Any]) -> Truth:
    from edgemem_eventmem.trajectory import Truth

    options = tuple(map(str, row.get("options") or ()))
    answer = str(row.get("answer") or "")
    option = row.get("option", options.index(answer) if answer in options else None)
    return Truth(question=str(row["question"]), answer=answer, options=options, option=option)


def _write(out: Path, rows: Sequence[dict[str, Any]]) -> None:
    from edgemem.extend import UsageError, write_file

    try:
        write_file(out, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}; give a file in a folder that exists") from None


def _write_pictures(view: View, found: Sequence[Trajectory], folder: Path) -> dict[str, str]:
    """Path by id of every picture that was shown and is still there."""
    from edgemem.extend import EdgememError, make_directory, write_file

    make_directory(folder)
    written = {}
    for name in dict.fromkeys(name for one in found for message in one.messages for name in message.pictures):
        try:
            jpeg = view.picture(int(name.removeprefix("m")))
        except (EdgememError, ValueError):
            continue
        path = folder / f"{name}.jpg"
        write_file(path, jpeg)
        written[name] = str(path)
    return written
