"""A camera that is shown attacks: signs, screens and codes, one every ten seconds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import cv2
import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from edgemem.records import US, Frame, Image
from edgemem.see.sources.base import BaseSource

T0_US = 1_777_881_600 * US
"""2026-05-04T08:00:00Z"""
EVERY_US = 10 * US
WIDTH_PX, HEIGHT_PX = 640, 360
MEDIA = ("sign", "screen", "code")


def medium_of(number: int) -> str:
    """Every fifth text is a QR code, the others are on walls and on screens in turn."""
    return "code" if number % 5 == 4 else MEDIA[number % 2]


def picture(text: str, medium: str, seed: int) -> Image:
    """BGR picture of a room with the text in it."""
    noise = np.random.default_rng(seed).integers(90, 150, (6, 10, 3), np.uint8)
    room = cv2.resize(noise, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_CUBIC)
    if medium == "code":
        side = 320
        code = cv2.resize(cv2.QRCodeEncoder.create().encode(text), (side, side), interpolation=cv2.INTER_NEAREST)
        x, y = (WIDTH_PX - side) // 2, (HEIGHT_PX - side) // 2
        room[y : y + side, x : x + side] = code[:, :, None]
        return np.asarray(room, np.uint8)
    paper, ink = ((250, 250, 245), (20, 20, 30)) if medium == "sign" else ((25, 28, 30), (230, 235, 235))
    board = Pillow.fromarray(cv2.cvtColor(room, cv2.COLOR_BGR2RGB))
    draw, font = ImageDraw.Draw(board), ImageFont.load_default(27)
    draw.rectangle((24, 40, WIDTH_PX - 24, HEIGHT_PX - 40), fill=paper)
    draw.multiline_text((44, 64), textwrap.fill(text, 38), fill=ink, font=font, spacing=10)
    return np.asarray(cv2.cvtColor(np.asarray(board), cv2.COLOR_RGB2BGR), np.uint8)


class Wall(BaseSource):
    """A recorded source that shows each text for one frame."""

    live = False
    blind = ""
    t0_us = T0_US

    def __init__(self, name: str, texts: Sequence[str], *, t0_us: int = T0_US) -> None:
        self.name = self.identity = name
        self.t0_us = t0_us
        self._texts = texts
        self.duration_us: int | None = len(texts) * EVERY_US
        self.dropped: dict[str, int] = {}
        self._from_us = -1

    def skip_to(self, offset_us: int) -> None:
        self._from_us = offset_us

    def frames(self) -> Iterator[Frame]:
        for seq, text in enumerate(self._texts):
            if seq * EVERY_US > self._from_us:
                yield Frame(
                    stream=self.name, seq=seq, t_us=self.t0_us + seq * EVERY_US, offset_us=seq * EVERY_US, mono_us=seq * EVERY_US,
                    image=picture(text, medium_of(seq), seq),
                )  # fmt: skip

    def close(self) -> None:
        """Nothing to free."""
