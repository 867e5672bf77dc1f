"""`edgemem config`: check, show, schema."""

from __future__ import annotations

import click

from edgemem.cli.app import CommandContext, common_options, json_option, json_text, note, pass_environment, print_json, print_line
from edgemem.config import dump, parse_bytes
from edgemem.errors import BudgetError, UsageError
from edgemem.layers import read_layers


@click.group()
def config() -> None:
    """Settings: check a file, show the values, print the JSON Schema."""


@config.command()
@common_options
@pass_environment
def check(environment: CommandContext) -> None:
    """Check the settings, the plugins, the recipes they name, and the sources and services of the daemon.

    A recording that does not exist is a warning: the daemon waits for it.
    """
    from edgemem.device.agent import check_sources
    from edgemem.remember.disk.page_budget import BudgetShares

    for name in dict.fromkeys(["", *(source.recipe for source in environment.settings.run.sources)]):
        recipe = environment.recipe(name)
        environment.recipes.check(recipe)
        environment.chains(recipe)
        environment.kit(name)
    try:
        BudgetShares.of(parse_bytes(environment.settings.budget.disk))
    except BudgetError as error:
        raise UsageError(f"settings: {error}") from None
    for missing in check_sources(environment):
        note(f"warning: {missing}")
    environment.services()
    print_line("settings, plugins and recipe are correct")


@config.command()
@json_option
@common_options
@pass_environment
def show(environment: CommandContext, as_json: bool) -> None:
    """Show the value of every setting, and where it comes from: default, board, file, environment or --set."""
    data = dump(environment.settings)
    if as_json:
        print_json(data)
        return
    layers = read_layers(*environment.given)
    for key, value in _flat(data):
        print_line(f"{key} = {json_text(value)}  # {layers.origin(key)}")


def _flat(data: object, prefix: str = "") -> list[tuple[str, object]]:
    if not isinstance(data, dict) or not data:
        return [(prefix, data)]
    return [row for key, value in data.items() for row in _flat(value, f"{prefix}.{key}" if prefix else key)]


@config.command()
@common_options
@pass_environment
def schema(environment: CommandContext) -> None:
    """Print the JSON Schema of the settings file, including tables of plugins, with a description of each key."""
    from edgemem.cli.config_schema import settings_schema

    runtimes = {name: runtime.settings for name, runtime in environment.plugins.components("runtimes").items()}
    print_json(settings_schema(environment.plugins.claimed_tables(), runtimes))
