"""`edgemem run`: the daemon."""

from __future__ import annotations

import click

from edgemem.cli.app import CommandContext, common_options, note, pass_environment


@click.command()
@common_options
@pass_environment
def run(environment: CommandContext) -> None:
    """The daemon: see the sources of the settings (run.memory, run.sources) until it is stopped, and answer questions.

    SIGTERM and SIGINT end it cleanly; after a new start it continues. It waits for a camera or recording that does not exist. It tells
    systemd when it is ready and that it is alive.
    """
    from edgemem.device.agent import Agent

    Agent(environment, note).run()
