"""`edgemem run`: the daemon."""

from __future__ import annotations

import logging
import sys

import click

from edgemem.cli.app import CommandContext, common_options, pass_environment, print_line


@click.command()
@common_options
@pass_environment
def run(environment: CommandContext) -> None:
    """The daemon: see the sources of the settings (run.memory, run.sources) until it is stopped, and answer questions.

    SIGTERM and SIGINT end it cleanly; after a new start it continues. It waits for a camera or recording that does not exist. It tells
    systemd when it is ready and that it is alive. SIGHUP makes it read its settings again: budget, governor,
    privacy.streams, privacy.masks and retention take effect at once, for the others it says that they need a restart.
    """
    from edgemem.device.agent import Agent
    from edgemem.device.log import AgentLog, LibraryMessages, form_of

    log = AgentLog(lambda line: print_line(line, err=True), form_of(environment.settings.run.log, sys.stderr))
    logging.basicConfig(handlers=[LibraryMessages(log)], level=logging.WARNING)
    Agent(environment, log).run()
