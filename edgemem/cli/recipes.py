"""`edgemem recipes`."""

from __future__ import annotations

import click
import msgspec

from edgemem.cli.app import CommandContext, common_options, json_option, pass_environment, print_json, table


@click.command()
@click.argument("name", required=False)
@json_option
@common_options
@pass_environment
def recipes(environment: CommandContext, name: str | None, as_json: bool) -> None:
    """List the recipes, or print the file of the recipe NAME, for example to copy it."""
    found = environment.recipes
    if name:
        recipe = environment.recipe(name)
        if as_json:
            print_json(msgspec.to_builtins(recipe))
        else:
            click.echo(found.path(name).read_text(encoding="utf-8"))
        return
    read = [(environment.recipe(known), found.files[known]) for known in found.names()]
    if as_json:
        print_json({"recipes": [{"name": r.name, "summary": r.summary, "rate_fps": r.rate_fps, "file": str(path)} for r, path in read]})
    else:
        table([(r.name, f"{r.rate_fps:g}", r.summary) for r, _ in read], ("recipe", "fps", "description"))
