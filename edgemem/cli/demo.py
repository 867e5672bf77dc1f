"""`edgemem demo`: a complete example with real pictures: remember a short film, ask five questions, show the evidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem import files
from edgemem.cli.app import CommandContext, FilePath, common_options, json_option, note, pass_environment, print_json, print_line, progress
from edgemem.clock import offset_text
from edgemem.records import US, Answer

if TYPE_CHECKING:
    from edgemem.serve.memory import Memory

Show = Callable[[str], object]
"""Prints a line for a person, or nothing with --json."""
START = "2026-05-04T08:00:00Z"
"""Wall time of the first frame of the demo's film."""


@dataclass(frozen=True)
class DemoQuestion:
    """A question of the demo."""

    text: str
    options: tuple[str, ...] = ()


QUESTIONS = (
    DemoQuestion("When did I last see the cup of coffee?"),
    DemoQuestion("What did the sign with the room number say?"),
    DemoQuestion("Which of these did I see first?", ("the motorbike", "the rocket", "the cup of coffee")),
    DemoQuestion("How many times did I see a cat?"),
    DemoQuestion("Did I ever see an elephant?"),
)


@click.command()
@click.option(
    "--out",
    type=FilePath(file_okay=False),
    help="Directory for film, memory and pictures (default: in the data directory).",
)
@json_option
@common_options
@pass_environment
def demo(environment: CommandContext, out: Path | None, as_json: bool) -> None:
    """Remember a film of about two minutes made of real clips and photographs, then ask five questions of different kinds."""
    from edgemem.cli.engines import fetch_all
    from edgemem.cli.sheet import draw_sheet
    from edgemem.remember.disk.contents import remove_memory

    began = time.monotonic()
    show: Show = (lambda _text: None) if as_json else print_line
    folder = out or environment.home / "demo"
    show("1. weights and clips, fetched once")
    fetch_all(environment)
    film = _make_film(environment.home, folder, show)
    remove_memory(folder / "memory")
    memory = environment.memory(folder / "memory")
    _remember(memory, film, show)
    answers = [_asked(memory, asked, folder, number) for number, asked in enumerate(QUESTIONS, 1)]
    show("4. five questions")
    for number, (asked, (answer, picture)) in enumerate(zip(QUESTIONS, answers, strict=True), 1):
        _show_answer(number, asked, answer, picture, show)
    sheet = draw_sheet(memory.directory, memory.timeline(), folder / "timeline.png")
    show(f"5. the timeline as a contact sheet: {sheet}")
    seconds = time.monotonic() - began
    show(f"done in {seconds:.0f} s; ask more: edgemem ask 'where did I see a motorbike?' --memory {memory.directory}")
    if as_json:
        from edgemem.serve.rendering import answer_json

        found = [answer_json(answer) | {"picture": str(picture) if picture else None} for answer, picture in answers]
        files = {"film": str(film), "memory": str(memory.directory), "sheet": str(sheet)}
        print_json({**files, "seconds": round(seconds, 1), "answers": found})


def _make_film(home: Path, folder: Path, show: Show) -> Path:
    """Write the film to the folder, and print notes on what is left out."""
    from edgemem.cli.film import SCENES, fetch_media, write_film
    from edgemem.infer.fetch import silent

    media, notes = fetch_media(home, silent)
    files.make_directory(folder)
    film = folder / "film.mp4"
    with progress() as advance:
        scenes = write_film(media, film, lambda done: advance("2. film", done, len(SCENES)))
    seconds = scenes[-1][0] + scenes[-1][1].seconds
    show(f"2. a film of {len(scenes)} scenes, {offset_text(round(seconds * US))}: {film}")
    for text in notes:
        note(f"note: {text}")
    return film


def _remember(memory: Memory, film: Path, show: Show) -> None:
    with progress() as advance:
        report = memory.ingest(film, start=START, stream="film", progress=lambda done_us, total_us: advance("3. memory", done_us, total_us))
    show(
        f"3. remembered with the recipe {memory.environment.settings.recipe}: {report.frames_seen} frames seen, "
        f"{report.moments_kept} kept, {report.segments} events, {report.documents} documents, {report.disk_bytes / 2**20:.1f} MiB, "
        f"in {report.seconds_spent:.1f} s ({report.seconds_of_video / max(report.seconds_spent, 1e-9):.1f} times real time)"
    )


def _asked(memory: Memory, asked: DemoQuestion, folder: Path, number: int) -> tuple[Answer, Path | None]:
    """The answer and the file of its best picture. The time of the question is the evening of the film's day, so that "today" is that
    day.
    """
    answer = memory.ask(asked.text, options=asked.options, as_of=memory.stats().newest_us)
    jpeg = memory.show(answer.evidence[0].id).picture if answer.status == "answered" and answer.evidence else None
    if jpeg is None:
        return answer, None
    picture = folder / f"evidence-{number}.jpg"
    files.write_file(picture, jpeg)
    return answer, picture


def _show_answer(number: int, asked: DemoQuestion, answer: Answer, picture: Path | None, show: Show) -> None:
    show("")
    show(f"   {number}. {asked.text}" + (f" ({' / '.join(asked.options)})" if asked.options else ""))
    show(f"      {answer.answer}")
    if picture is None:
        show(f"      {answer.status}, confidence {answer.confidence:.2f}")
        return
    best = answer.evidence[0]
    show(f"      at {offset_text(best.offset_us)} in {best.stream}, score {best.score:.2f}, confidence {answer.confidence:.2f}: {picture}")
