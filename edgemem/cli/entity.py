"""`edgemem entity`: who and what the memory knows by name; two names that are one, and one that are two."""

from __future__ import annotations

from pathlib import Path

import click

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, pass_environment, print_json, print_line, table

_KIND = click.option("--kind", default="", help="Only of this kind, such as person, object, location or voice.")


@click.group()
def entity() -> None:
    """People, things and places: list them, say that two names are one, or that they are not."""


@entity.command("list")
@memory_option
@_KIND
@json_option
@common_options
@pass_environment
def list_(environment: CommandContext, memory: Path, kind: str, as_json: bool) -> None:
    """List what the memory knows by name, each with its other names."""
    from edgemem.remember.administration import open_view
    from edgemem.serve.rendering import entity_json

    del environment
    with open_view(memory) as view:
        found = view.entities(kind=kind or None)
    if as_json:
        print_json({"entities": [entity_json(one) for one in found]})
    elif found:
        table([(one.kind, one.name, ", ".join(one.aliases)) for one in found], ("kind", "name", "also called"))
    else:
        print_line("the memory knows nobody and nothing by name" + (f" of the kind {kind}" if kind else ""))


@entity.command()
@click.argument("name")
@click.argument("into")
@memory_option
@_KIND
@json_option
@common_options
@pass_environment
def merge(environment: CommandContext, name: str, into: str, memory: Path, kind: str, as_json: bool) -> None:
    """Say that NAME is another name of INTO. Questions as of earlier still see two."""
    from edgemem.serve.rendering import entity_json

    found = environment.memory(memory).merge_entities(name, into, kind)
    if as_json:
        print_json(entity_json(found))
    else:
        print_line(f'{name} is {found.name}; take it back with: edgemem entity split "{name}" --memory {memory}')


@entity.command()
@click.argument("name")
@memory_option
@_KIND
@json_option
@common_options
@pass_environment
def split(environment: CommandContext, name: str, memory: Path, kind: str, as_json: bool) -> None:
    """Say that NAME is somebody or something of its own after all. Nothing makes it one with the other again but `merge`."""
    from edgemem.serve.rendering import entity_json

    found = environment.memory(memory).merge_entities(name, "", kind)
    if as_json:
        print_json(entity_json(found))
    else:
        print_line(f"{found.name} stands for itself again")
