"""`edgemem plugins`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click
import msgspec

from edgemem.cli.app import CommandContext, common_options, json_option, pass_environment, print_json, table

if TYPE_CHECKING:
    from edgemem.extend.guard import GuardStats
    from edgemem.extend.plugins import Loaded

    Costs = Mapping[tuple[str, str], GuardStats]


@click.command()
@json_option
@common_options
@pass_environment
def plugins(environment: CommandContext, as_json: bool) -> None:
    """List the loaded plugins, their components, and calls, failures and seconds of each component in past runs."""
    listed = _listed(environment)
    if as_json:
        print_json({"plugins": [_plain(plugin, costs) for plugin, costs in listed]})
        return
    heads = [(p.name, p.version or "-", p.origin, ", ".join(h for h in p.hooks if not h.startswith("register_")) or "-") for p, _ in listed]
    table(heads, ("plugin", "version", "from", "observes"))
    click.echo()
    rows = [
        (plugin.name, place[:-1], name, str(s.calls), str(s.failures), f"{s.seconds:.2f}", s.last_failure)
        for plugin, costs in listed
        for (place, name), s in sorted(costs.items())
    ]
    table(rows, ("plugin", "place", "component", "calls", "failures", "seconds", "last failure"))


def _listed(environment: CommandContext) -> list[tuple[Loaded, Costs]]:
    from edgemem.extend.guard import GuardStats
    from edgemem.extend.stats import load_stats

    past, guards = load_stats(environment.home), environment.plugins.guards
    return [
        (plugin, {key: past.get("/".join(key), GuardStats()) for key, guard in guards.items() if guard.plugin == plugin.name})
        for plugin in environment.plugins.loaded
    ]


def _plain(plugin: Loaded, costs: Costs) -> dict[str, object]:
    components = [{"place": place, "name": name, **msgspec.to_builtins(stats)} for (place, name), stats in sorted(costs.items())]
    return {"name": plugin.name, "version": plugin.version, "origin": plugin.origin, "hooks": plugin.hooks, "components": components}
