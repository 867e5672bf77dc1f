"""`edgemem`: the group of all commands. The module of a command is imported only when that command is used."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from edgemem import __version__
from edgemem.cli.app import CommandContext, FilePath, fail, guard_terminal, note, with_common_options
from edgemem.errors import EdgememError, MemoryDirError, UsageError

# command -> (module, attribute, one line of help). The help texts are here so that `edgemem --help` imports no command.
_COMMANDS = {
    "ingest": ("edgemem.cli.ingest", "ingest", "Remember videos, recordings of sound, pictures, a camera, a microphone or a URL."),
    "run": ("edgemem.cli.run", "run", "The daemon: see the configured cameras until it is stopped, and answer questions."),
    "sim": ("edgemem.cli.sim", "sim", "The daemon in simulated time, with recordings as cameras and with faults."),
    "ask": ("edgemem.cli.ask", "ask", "Answer a question with evidence."),
    "search": ("edgemem.cli.search", "search", "Find moments, events and text."),
    "show": ("edgemem.cli.show", "show", "Show a piece of evidence: its picture and all known facts."),
    "timeline": ("edgemem.cli.timeline", "timeline", "List the events in order."),
    "sessions": ("edgemem.cli.sessions", "sessions", "List past questions, and show how each answer was found."),
    "demo": ("edgemem.cli.demo", "demo", "Remember a short film made of real clips and ask five questions."),
    "name": ("edgemem.cli.name", "name", "Name a voice or a thing, or remove its name."),
    "entity": ("edgemem.cli.entity", "entity", "List people, things and places; join two names, or part them."),
    "forget": ("edgemem.cli.forget", "forget", "Forget a time range, a name, a stream or a piece of evidence, permanently."),
    "memory": ("edgemem.cli.memory", "memory", "Manage a memory: stats, check, backup, export, import, compact, encrypt ..."),
    "engines": ("edgemem.cli.engines", "engines", "Models: list, fetch, build, check, selftest."),
    "recipes": ("edgemem.cli.recipes", "recipes", "List the recipes, or print one."),
    "plugins": ("edgemem.cli.plugins", "plugins", "List the plugins, what they register, their failures and time."),
    "boards": ("edgemem.cli.boards", "boards", "List the settings files for boards and deployments."),
    "config": ("edgemem.cli.config", "config", "Settings: check, show, schema."),
    "doctor": ("edgemem.cli.doctor", "doctor", "Show what this machine can do and what is missing."),
}


class _Commands(click.Group):
    """Built-in commands by name, then those of plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *sorted(set(_plugin_commands(ctx)) - set(_COMMANDS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            module, attribute, _ = _COMMANDS[cmd_name]
            command: click.Command = getattr(import_module(module), attribute)
            return command
        return _plugin_commands(ctx).get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, text) for name, (_, _, text) in _COMMANDS.items()]
        rows += [(name, command.get_short_help_str()) for name, command in sorted(_plugin_commands(ctx).items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from edgemem.errors import nearest

            raise click.UsageError(f"{error.message.rstrip('.')}{nearest(args[0], self.list_commands(ctx))}", ctx) from None


def _plugin_commands(ctx: click.Context) -> dict[str, click.Command]:
    environment = (
        ctx.obj if isinstance(ctx.obj, CommandContext) else CommandContext(None, ())
    )  # `--help` comes before the group's own options
    return {command.name or "": with_common_options(command) for command in environment.plugins.commands()}


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--config", type=FilePath(), help="Settings file (default: $EDGEMEM_CONFIG).")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override one setting, such as budget.disk=64MiB. Repeatable.")
@click.option("--plugins-dir", "plugins_dirs", type=FilePath(), multiple=True, help="Also load plugins from this folder. Repeatable.")
@click.version_option(__version__, prog_name="edgemem")
@click.pass_context
def cli(ctx: click.Context, config: Path | None, overrides: tuple[str, ...], plugins_dirs: tuple[Path, ...]) -> None:
    """An on-device visual memory: it remembers what a camera saw, within a byte budget, and answers with evidence.

    Start with: edgemem demo
    """
    ctx.obj = CommandContext(config, overrides, plugins_dirs)


def _unreadable() -> tuple[type[Exception], ...]:
    """What reading damaged tables raises: of SQLite, of text that is no UTF-8, of JSON and MessagePack in a column."""
    from json import JSONDecodeError

    import msgspec

    from edgemem.remember.disk.database import errors

    return (*errors(), UnicodeDecodeError, JSONDecodeError, msgspec.MsgspecError)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run one command in this process; the SystemExit it raises has the exit code.

    0 done, 1 failed, 2 wrong usage or configuration, 3 no answer; 130 and 143: SIGINT or SIGTERM ended it before it was done.
    """
    guard_terminal()
    stdout = sys.stdout
    try:
        code: Any = cli.main(args=arguments, prog_name="edgemem", standalone_mode=False)
    except EdgememError as error:
        code = fail(error)
    except click.exceptions.Abort:
        code = 130  # interrupted at the keyboard; the code is that of shells
    except click.ClickException as error:
        hint = f" (see: {error.ctx.command_path} --help)" if isinstance(error, click.UsageError) and error.ctx else ""
        note(f"edgemem: {error.format_message()}{hint}")
        code = error.exit_code
    except UnicodeEncodeError:
        code = fail(UsageError("a name or a text of this command is not valid UTF-8"))
    except BrokenPipeError:
        code = 0  # the reader of our output has seen enough
    except SystemExit:
        if sys.stdout is stdout:
            raise
        code = 0  # as for a broken pipe: click says so by an exit, after it put another stdout in the place of ours
    except _unreadable() as error:  # a damaged memory, where nothing nearer the damage says it
        code = fail(MemoryDirError(f"what is stored cannot be read or written ({error}); see: edgemem memory check --memory DIR"))
    except OSError as error:  # a name that is too long, a disk that is full, a place that may not be read
        code = fail(EdgememError(f"{str(error.filename or 'the file system')[:200]}: {error.strerror or error}"))
    sys.exit(code if isinstance(code, int) else 0)


def program() -> None:
    """Run the command line as a process of its own; it ends at once where a library is still in a call to a camera.

    A thread that comes back from such a call while Python is being taken down ends the process by a segmentation fault (3 of 14 stops while
    FFmpeg opened a camera that did not answer). Everything of ours is closed by then.
    """
    try:
        main()
    except SystemExit as ended:
        if any(thread.name.startswith("edgemem-") for thread in threading.enumerate()):
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(int(ended.code or 0))
        raise
