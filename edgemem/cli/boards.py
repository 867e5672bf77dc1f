"""`edgemem boards`."""

from __future__ import annotations

import click

from edgemem.cli.app import CommandContext, common_options, json_option, pass_environment, print_json, table


@click.command()
@json_option
@common_options
@pass_environment
def boards(_environment: CommandContext, as_json: bool) -> None:
    """List the settings files for boards and deployments; use one with --config, or copy it."""
    from edgemem.config import firmware_dir

    found = [(path, path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for path in sorted(firmware_dir().glob("*.toml"))]
    if as_json:
        print_json({"boards": [{"name": path.stem, "summary": summary, "file": str(path)} for path, summary in found]})
    else:
        table([(path.stem, summary, str(path)) for path, summary in found], ("board", "purpose", "file"))
