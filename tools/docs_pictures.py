"""Draw the pictures of the README from a finished demo: `python tools/docs_pictures.py DEMO_DIR`.

DEMO_DIR is the output of `edgemem demo --out DEMO_DIR`. Writes docs/pictures/timeline.png (a part of the contact sheet) and
docs/pictures/answer.png (a question, its printed answer, and its evidence).
"""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from edgemem import Memory
from edgemem.clock import offset_text

OUT = Path(__file__).resolve().parent.parent / "docs" / "pictures"
WIDTH_PX, SHEET_PX, COLOURS = 900, 418, 128
QUESTION = "when did I last see the cup of coffee?"
INK, DIM, PAPER, ACCENT = (236, 238, 241), (150, 158, 168), (22, 25, 30), (88, 166, 255)


def save(picture: Image.Image, path: Path) -> None:
    """Save a small file for the repository: with a palette instead of full colour."""
    picture.quantize(COLOURS).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KiB")


def timeline(demo: Path) -> Image.Image:
    """The first events of the contact sheet."""
    sheet = Image.open(demo / "timeline.png").convert("RGB")
    part = sheet.crop((0, 0, sheet.width, min(sheet.height, SHEET_PX * sheet.width // WIDTH_PX)))
    return part.resize((WIDTH_PX, part.height * WIDTH_PX // part.width), Image.Resampling.LANCZOS)


def answer(demo: Path) -> Image.Image:
    """A question, its answer and the picture that is its evidence."""
    with Memory.open(demo / "memory") as memory:
        found = memory.ask(QUESTION)
        item = found.evidence[0]
        shown = memory.show(item.id)
    picture = Image.open(demo / "evidence-1.jpg").convert("RGB").resize((384, 216), Image.Resampling.LANCZOS)
    card = Image.new("RGB", (WIDTH_PX, 264), PAPER)
    card.paste(picture, (WIDTH_PX - 408, 24))
    draw = ImageDraw.Draw(card)
    large, small = ImageFont.load_default(19), ImageFont.load_default(14)
    draw.text((24, 24), textwrap.fill(QUESTION, 42), fill=ACCENT, font=large)
    draw.text((24, 70), textwrap.fill(found.answer, 44), fill=INK, font=large)
    seen = ", ".join([o.name for o in shown.observations if o.kind != "text"][:4])
    facts = f"{item.id}, {item.stream} at {offset_text(item.offset_us)}\nconfidence {found.confidence:.2f}\nseen: {seen}"
    draw.text((24, 180), textwrap.fill(facts, 60, replace_whitespace=False), fill=DIM, font=small)
    return card


def main() -> None:
    """Draw both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path)
    demo = parser.parse_args().demo
    OUT.mkdir(parents=True, exist_ok=True)
    save(timeline(demo), OUT / "timeline.png")
    save(answer(demo), OUT / "answer.png")


if __name__ == "__main__":
    main()
