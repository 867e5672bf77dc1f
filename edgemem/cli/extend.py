"""`edgemem plugins` and `edgemem recipes`."""

from __future__ import annotations

from collections.abc import Mapping

import click
import msgspec

from edgemem.cli.app import CommandContext, common_options, json_option, pass_session, print_json, table


@click.command()
@json_option
@common_options
@pass_session
def plugins(session: CommandContext, as_json: bool) -> None:
    """List the plugins that are loaded, what they register, and how each component fared in past runs."""
    from edgemem.extend.guard import GuardStats
    from edgemem.extend.stats import load_stats

    past = load_stats(session.home)
    listed = []
    for plugin in session.plugins.loaded:
        own = {
            (place, name): past.get(f"{place}/{name}", GuardStats())
            for (place, name), guard in session.plugins.guards.items()
            if guard.plugin == plugin.name
        }
        listed.append((plugin, own))
    if as_json:
        print_json({"plugins": [_plain(plugin, own) for plugin, own in listed]})
        return
    heads = [(p.name, p.version or "-", p.origin, ", ".join(h for h in p.hooks if not h.startswith("register_")) or "-") for p, _ in listed]
    table(heads, ("plugin", "version", "from", "observes"))
    click.echo()
    rows = [
        (plugin.name, place[:-1], name, str(s.calls), str(s.failures), f"{s.seconds:.2f}", s.last_failure)
        for plugin, own in listed
        for (place, name), s in sorted(own.items())
    ]
    table(rows, ("plugin", "place", "component", "calls", "failures", "seconds", "last failure"))


def _plain(plugin: object, own: Mapping[tuple[str, str], object]) -> dict[str, object]:
    from edgemem.extend.plugins import Loaded

    assert isinstance(plugin, Loaded)
    components = [{"place": place, "name": name, **msgspec.to_builtins(stats)} for (place, name), stats in sorted(own.items())]
    return {"name": plugin.name, "version": plugin.version, "origin": plugin.origin, "hooks": plugin.hooks, "components": components}


@click.command()
@click.argument("name", required=False)
@json_option
@common_options
@pass_session
def recipes(session: CommandContext, name: str | None, as_json: bool) -> None:
    """List the recipes, or print the one called NAME as a file to copy from."""
    found = session.recipes
    if name:
        recipe = found.read(name)
        if as_json:
            print_json(msgspec.to_builtins(recipe))
        else:
            click.echo(found.files[name].read_text(encoding="utf-8") if name in found.files else msgspec.to_builtins(recipe))
        return
    read = [(recipe, found.files[recipe.name]) for recipe in map(found.read, found.names())]
    if as_json:
        print_json({"recipes": [{"name": r.name, "summary": r.summary, "rate_fps": r.rate_fps, "file": str(path)} for r, path in read]})
    else:
        table([(r.name, f"{r.rate_fps:g}", r.summary) for r, _ in read], ("recipe", "fps", "what it is"))
