"""`edgemem memory`: manage a memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from edgemem.cli.app import (
    CommandContext,
    FilePath,
    common_options,
    json_option,
    memory_option,
    pass_environment,
    print_json,
    print_line,
    progress,
)
from edgemem.cli.keys import decrypt, encrypt, keygen, rekey
from edgemem.config import parse_bytes
from edgemem.errors import MemoryDirError, MemoryKeyError, UsageError


@click.group()
def memory() -> None:
    """Manage a memory: stats, check, backup, export, import, compact, pause, resume; keygen, encrypt, decrypt, rekey."""


for command in (keygen, encrypt, decrypt, rekey):
    memory.add_command(command)


@memory.command()
@memory_option
@json_option
@common_options
@pass_environment
def stats(environment: CommandContext, memory: Path, as_json: bool) -> None:
    """Show the number of stored items, their times, and the size on disk."""
    from edgemem.serve.rendering import stats_json

    facts = stats_json(environment.memory(memory).stats())
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        print_line(f"{key}: {_words(value)}")


def _words(value: object) -> str:
    """A value of `stats` for a person."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


@memory.command()
@memory_option
@json_option
@common_options
@pass_environment
def check(_environment: CommandContext, memory: Path, as_json: bool) -> None:
    """Check the database and the vector files. Exit code 1: something is wrong."""
    from edgemem.remember.check import check_memory

    try:
        problems = check_memory(memory)
    except MemoryDirError as error:
        if not as_json or isinstance(error, MemoryKeyError):  # a key that is wrong says nothing of the memory
            raise
        problems = [str(error)]
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    else:
        for line in problems or ["the memory has no errors"]:
            print_line(line)
    if problems:
        raise click.exceptions.Exit(1)


@memory.command()
@click.argument("file", type=FilePath())
@memory_option
@click.option("--key-file", type=FilePath(), metavar="KEY", help="Encrypt the copy with this key (default: that of the memory).")
@json_option
@common_options
@pass_environment
def backup(_environment: CommandContext, file: Path, memory: Path, key_file: Path | None, as_json: bool) -> None:
    """Copy the memory to one new FILE; it may be written at the same time. `edgemem memory import FILE` makes a memory from it.

    The copy of an encrypted memory is encrypted too.
    """
    from edgemem.remember.administration import backup as copy
    from edgemem.remember.disk.keys import read

    with progress() as advance:
        size = copy(memory, file, partial(advance, "backup"), key=None if key_file is None else read(key_file))
    if as_json:
        print_json({"file": str(file), "bytes": size})
    else:
        print_line(f"{file}: {size / 2**20:.1f} MiB")


@memory.command()
@click.argument("folder", type=FilePath(), metavar="DIR")
@memory_option
@click.option("--plain", is_flag=True, help="Write encrypted data to files that are not encrypted.")
@json_option
@common_options
@pass_environment
def export(_environment: CommandContext, folder: Path, memory: Path, plain: bool, as_json: bool) -> None:
    """Write the whole memory to a new DIR as JSON Lines and JPEG files, which any tool can read."""
    from edgemem.remember.administration import open_view
    from edgemem.remember.export import export as write

    with open_view(memory) as view:
        if view.encrypted and not plain:
            raise UsageError("an export is readable without the key: add --plain if you want that, or use `edgemem memory backup`")
    with progress() as advance:
        moments = write(memory, folder, partial(advance, "export"))
    if as_json:
        print_json({"directory": str(folder), "moments": moments})
    else:
        print_line(f"{folder}: {moments} moments")


@memory.command("import")
@click.argument("source", type=FilePath(exists=True))
@memory_option
@click.option("--again", is_flag=True, help="Also an export that was imported before: everything in it comes in a second time.")
@json_option
@common_options
@pass_environment
def import_(environment: CommandContext, source: Path, memory: Path, again: bool, as_json: bool) -> None:
    """Take in SOURCE: the directory of an export, also beside what the memory holds, or the file of a backup, as a new memory."""
    from edgemem.remember.administration import open_view
    from edgemem.remember.disk.directory import require_not_paused
    from edgemem.remember.imports import import_into
    from edgemem.remember.restore import restore

    require_not_paused(memory)
    if source.is_dir():
        with progress() as advance:
            budget_bytes = parse_bytes(environment.settings.budget.disk)
            moments = import_into(memory, source, budget_bytes=budget_bytes, again=again, progress=partial(advance, "import"))
    else:
        restore(source, memory)
        with open_view(memory) as view:
            moments = view.stats().moments
    if as_json:
        print_json({"memory": str(memory), "moments": moments})
    else:
        print_line(f"{memory}: {moments} moments imported")


@memory.command()
@memory_option
@json_option
@common_options
@pass_environment
def compact(_environment: CommandContext, memory: Path, as_json: bool) -> None:
    """Return free space to the disk, finish a wipe that was interrupted, make a damaged full-text index anew, and migrate an older memory.

    It needs no space for a second copy.
    """
    from edgemem.remember.administration import compact as shrink

    with progress() as advance:
        before, after = shrink(memory, partial(advance, "compact"))
    if as_json:
        print_json({"bytes_before": before, "bytes_after": after})
    else:
        print_line(f"{before / 2**20:.1f} MiB before, {after / 2**20:.1f} MiB now")


@memory.command()
@memory_option
@json_option
@common_options
@pass_environment
def pause(_environment: CommandContext, memory: Path, as_json: bool) -> None:
    """Remember nothing new until `resume`, also not by an `ingest` or an agent that runs. Questions are answered, and `forget` works."""
    _set_paused(memory, as_json=as_json, paused=True)


@memory.command()
@memory_option
@json_option
@common_options
@pass_environment
def resume(_environment: CommandContext, memory: Path, as_json: bool) -> None:
    """See again after `pause`."""
    _set_paused(memory, as_json=as_json, paused=False)


def _set_paused(memory: Path, *, as_json: bool, paused: bool) -> None:
    from edgemem.remember.disk.directory import set_paused
    from edgemem.remember.disk.error_translation import translated_errors

    with translated_errors(memory):
        set_paused(memory, paused=paused)
    if as_json:
        print_json({"paused": paused})
    else:
        print_line("paused: nothing new is remembered until `edgemem memory resume`" if paused else "seeing again")
