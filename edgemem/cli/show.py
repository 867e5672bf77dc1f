"""`edgemem show`."""

from __future__ import annotations

from pathlib import Path

import click

from edgemem import files
from edgemem.cli.app import (
    CommandContext,
    FilePath,
    common_options,
    json_option,
    memory_option,
    pass_environment,
    print_json,
    print_line,
    print_lines,
)
from edgemem.errors import UsageError


@click.command()
@click.argument("evidence_id")
@memory_option
@click.option("--out", type=FilePath(dir_okay=False), help="Write the picture to this file (default: EVIDENCE_ID.jpg).")
@json_option
@common_options
@pass_environment
def show(environment: CommandContext, evidence_id: str, memory: Path, out: Path | None, as_json: bool) -> None:
    """Open a piece of evidence: write its picture to a file and print what is known of it."""
    from edgemem.remember.disk.directory import require_outside
    from edgemem.serve.rendering import shown_json

    shown = environment.memory(memory).show(evidence_id)
    facts = shown_json(shown)
    if shown.picture is not None:
        out = out or Path(f"{evidence_id}.jpg")
        require_outside(memory, out)
        facts["picture"] = str(_written(shown.picture, out))
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        if value not in ("", []):
            print_lines(f"{key}: {value if not isinstance(value, list) else ', '.join(map(str, value))}", "  ")
    if shown.picture is None:
        print_line("there is no picture of it, or it has faded; this is what is left")


def _written(picture: bytes, path: Path) -> Path:
    try:
        files.write_file(path, picture)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); choose another place with --out") from None
    return path
