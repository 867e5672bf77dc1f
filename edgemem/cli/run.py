"""`edgemem run`: the daemon."""

from __future__ import annotations

import click

from edgemem.cli.app import CommandContext, common_options, note, pass_environment


@click.command()
@common_options
@pass_environment
def run(environment: CommandContext) -> None:
    """The daemon: see the sources of the settings (run.memory, run.sources) until told to stop, and answer while doing so.

    SIGTERM and SIGINT end it cleanly; started again, it goes on. A camera or recording that is not there is waited for. Under systemd it
    says when it is ready and that it is alive.
    """
    from edgemem.device.agent import Agent

    Agent(environment, note).run()
