"""Pictures of a stream: canvases with things on them, a hand-held camera over a canvas, clips, sensor noise."""

import functools
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from media import Item, path_of
from signs import Image

MARGIN = 1.25  # a canvas is larger than the frame by this factor, so that the camera can move
SAFE = 0.80  # the part of a frame, around the canvas centre, that every camera path keeps in view
MAX_ENLARGED = 3.0  # small stamps are never enlarged more than this; larger ones would be unclear
CLIP_SPAN_S = {"bikes.mp4": (5.0, 10.0), "Megamind.avi": (1.6, 9.0), "cup.mp4": (0.0, 7.0), "tree.avi": (0.0, 4.0)}

Size = tuple[int, int]  # width, height in pixels


@functools.lru_cache(maxsize=48)
def load(item: Item) -> Image:
    """The picture as stored: BGR, or BGRA for a cut-out, large ones reduced to 2,000 px."""
    import cv2

    picture = cv2.imread(str(path_of(item.source, item.file)), cv2.IMREAD_UNCHANGED)
    if picture is None:
        raise FileNotFoundError(f"{path_of(item.source, item.file)}: not a readable picture; delete it and run media.py")
    if picture.ndim == 2:
        picture = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
    if item.role != "object":
        picture = picture[..., :3]
    shrink = min(1.0, 2000 / max(picture.shape[:2]))
    return np.asarray(cv2.resize(picture, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA), np.uint8)


def cover(picture: Image, size: Size) -> Image:
    """The centre of the picture, scaled to fill `size`."""
    import cv2

    scale = max(size[0] / picture.shape[1], size[1] / picture.shape[0])
    wide, high = max(size[0], round(picture.shape[1] * scale)), max(size[1], round(picture.shape[0] * scale))
    big = cv2.resize(picture, (wide, high), interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    x, y = (wide - size[0]) // 2, (high - size[1]) // 2
    return np.asarray(big[y : y + size[1], x : x + size[0]], np.uint8)


def fit(picture: Image, size: Size) -> Image:
    """The whole picture inside `size`, over a blurred enlargement of itself; pictures of nearly the right shape are cropped instead."""
    import cv2

    if picture.shape[1] / picture.shape[0] > 0.8 * size[0] / size[1]:
        return cover(picture, size)
    tiny = cv2.GaussianBlur(cover(picture, (max(2, size[0] // 8), max(2, size[1] // 8))), (0, 0), 4)
    canvas = (cover(tiny, size) * 0.5).astype(np.uint8)
    scale = size[1] / picture.shape[0]
    whole = cv2.resize(picture, (min(size[0], round(picture.shape[1] * scale)), size[1]), interpolation=cv2.INTER_CUBIC)
    x = (size[0] - whole.shape[1]) // 2
    canvas[:, x : x + whole.shape[1]] = whole
    return canvas


def paste(canvas: Image, stamp: Image, x: int, y: int) -> None:
    """Blend a BGRA stamp into the canvas at (x, y), its edge feathered by about a pixel."""
    import cv2

    high, wide = stamp.shape[:2]
    alpha = cv2.GaussianBlur(np.pad(stamp[..., 3], 2), (0, 0), 1.0)[2:-2, 2:-2, None].astype(np.float32) / 255
    under = canvas[y : y + high, x : x + wide]
    under[:] = (stamp[..., :3] * alpha + under * (1 - alpha)).astype(np.uint8)


def enlarge(stamp: Image, width_px: int, height_px: int) -> Image:
    """A cut-out scaled to fit the box, with premultiplied alpha, so that hidden colours do not appear at the edge."""
    import cv2

    if stamp.shape[2] == 3:
        stamp = np.dstack([stamp, np.full(stamp.shape[:2], 255, np.uint8)])
    scale = min(width_px / stamp.shape[1], height_px / stamp.shape[0], MAX_ENLARGED)
    size = (max(4, int(stamp.shape[1] * scale)), max(4, int(stamp.shape[0] * scale)))
    alpha = stamp[..., 3:].astype(np.float32) / 255
    kind = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    colour = cv2.resize(stamp[..., :3] * alpha, size, interpolation=kind)
    cover_ = np.clip(cv2.resize(alpha, size, interpolation=kind), 0, 1)[..., None]
    colour = np.clip(colour / np.maximum(cover_, 1e-3), 0, 255)
    return np.dstack([colour, cover_ * 255]).astype(np.uint8)


def place_stamps(canvas: Image, stamps: list[Image], frame: Size, rng: random.Random) -> None:
    """Put the stamps side by side in random order into the part of the canvas that stays in view."""
    slots = list(range(len(stamps)))
    rng.shuffle(slots)
    slot_px = int(frame[0] * SAFE / max(1, len(stamps)))
    left, top = (canvas.shape[1] - int(frame[0] * SAFE)) // 2, (canvas.shape[0] - int(frame[1] * SAFE)) // 2
    for slot, stamp in zip(slots, stamps, strict=False):
        free_x, free_y = slot_px - stamp.shape[1], int(frame[1] * SAFE) - stamp.shape[0]
        x = left + slot * slot_px + rng.randint(0, max(0, free_x))
        paste(canvas, stamp, x, top + rng.randint(0, max(0, free_y)))


def camera(canvas: Image, frame: Size, count: int, rng: random.Random) -> Iterator[Image]:
    """`count` frames of a slow pan and zoom over the canvas with the movement of a hand; some begin with a motion blur."""
    import cv2

    (wide, high), (canvas_w, canvas_h) = frame, (canvas.shape[1], canvas.shape[0])
    reach = 0.05 * wide, 0.05 * high
    start, end = ([rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(0.95, 1.08)] for _ in range(2))
    phase, smear = rng.uniform(0, 6), rng.choice([0, 0, 4, 7])
    for n in range(count):
        s = n / max(1, count - 1)
        s = s * s * (3 - 2 * s)
        dx, dy, zoom = (a + (b - a) * s for a, b in zip(start, end, strict=False))
        tremor = 0.002 * wide * math.sin(1.9 * n + phase), 0.002 * wide * math.cos(1.3 * n + phase)
        x = canvas_w / 2 + dx * reach[0] + tremor[0] - zoom * wide / 2
        y = canvas_h / 2 + dy * reach[1] + tremor[1] - zoom * high / 2
        view = np.array([[zoom, 0, x], [0, zoom, y]], np.float32)
        shot = cv2.warpAffine(canvas, view, frame, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REFLECT)
        if n < smear:
            shot = cv2.blur(shot, (max(1, wide * (smear - n) // 60), 1))
        yield np.asarray(shot, np.uint8)


def clip_frames(item: Item, frame: Size, count: int, fps: int, rng: random.Random) -> Iterator[Image]:
    """`count` frames of a clip at its own speed from a random start; one that is too short is played forwards and backwards."""
    import av

    path = path_of(item.source, item.file)
    with av.open(str(path)) as container:
        video = container.streams.video[0]
        rate = float(video.average_rate or 10)
        begin, end = CLIP_SPAN_S.get(path.name, (0.0, video.frames / rate if video.frames else 4.0))
        begin += rng.uniform(0, max(0.0, end - begin - count / fps))
        shots: list[Image] = []
        for n, picture in enumerate(container.decode(video)):
            at_s = n / rate
            if at_s >= begin + len(shots) / fps:
                if at_s >= end or len(shots) == count:
                    break
                shots.append(fit(picture.to_ndarray(format="bgr24"), frame))
    shots = shots or [np.zeros((frame[1], frame[0], 3), np.uint8)]
    there_and_back = shots + shots[-2:0:-1]
    for n in range(count):
        yield there_and_back[n % len(there_and_back)]


class Sensor:
    """Additive sensor noise from a small pool of seeded patterns (new noise for every frame takes 60 ms at 720p)."""

    def __init__(self, frame: Size, seed: int) -> None:
        noise = np.random.default_rng(seed)
        shape = (frame[1], frame[0], 3)
        self._pool: list[np.ndarray[Any, np.dtype[np.int16]]] = [np.round(noise.normal(0, 2.0, shape)).astype(np.int16) for _ in range(5)]
        self._turn = 0

    def __call__(self, picture: Image) -> Image:
        import cv2

        self._turn = (self._turn + 1) % len(self._pool)
        return np.asarray(cv2.add(picture, self._pool[self._turn], dtype=cv2.CV_8U), np.uint8)
