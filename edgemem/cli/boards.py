"""`edgemem boards`."""

from __future__ import annotations

import click

from edgemem.cli.app import CommandContext, common_options, json_option, pass_environment, print_json, print_line, table


@click.command()
@json_option
@common_options
@pass_environment
def boards(environment: CommandContext, as_json: bool) -> None:
    """List the files for boards and deployments. That of this board is used by itself; name a deployment with --config, or copy it."""
    from edgemem.boards import board_files, firmware_dir
    from edgemem.layers import read_layers

    known = board_files()
    here = read_layers(*environment.given).board.name
    found = [(path, path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for path in sorted(firmware_dir().glob("*.toml"))]
    rows = [(path.stem, "board" if path.stem in known else "deployment", summary, str(path)) for path, summary in found]
    if as_json:
        named = [{"name": name, "kind": kind, "summary": summary, "file": file} for name, kind, summary, file in rows]
        print_json({"boards": named, "here": here})
    else:
        table(rows, ("name", "kind", "purpose", "file"))
        print_line(f"here: {here or 'no file of a board'}")
