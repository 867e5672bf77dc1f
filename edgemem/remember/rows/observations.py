"""How observations are packed into rows: interned names, scores in millionths, boxes as 16-bit fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from edgemem.records import Box, Observation

PPM = 1_000_000
COLOUR_WORD = "colour-word"
"""Kind under which the colour words of observations are interned; no observation has it."""
MOST_SIDE = 65535
"""Sides of a packed box are fractions of this."""

Packed = tuple[int, int, int, tuple[int, int, int, int] | None]
"""term id, score in millionths, colour term id (0 = none), box as four fractions of 65535."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Packed])


def pack(observations: Sequence[Observation], intern: Callable[[str, str], int]) -> list[Packed]:
    """Pack observations. `intern(kind, name)` returns the id of a term, which it creates if new."""
    return [
        (
            intern(seen.kind, seen.name),
            round(seen.score * PPM),
            intern(COLOUR_WORD, seen.colour) if seen.colour else 0,
            _pack_box(seen.box) if seen.box else None,
        )
        for seen in observations
    ]


def unpack(data: bytes, term: Callable[[int], tuple[str, str]]) -> tuple[Observation, ...]:
    """Unpack observations. `term(id)` returns the kind and the name of an id."""
    seen = []
    for term_id, score_ppm, colour_id, box in _decoder.decode(data):
        kind, name = term(term_id)
        seen.append(
            Observation(
                kind=kind,  # type: ignore[arg-type]  # only the four kinds were ever packed
                name=name,
                score=score_ppm / PPM,
                box=Box(*(side / MOST_SIDE for side in box)) if box else None,
                colour=term(colour_id)[1] if colour_id else "",
            ),
        )
    return tuple(seen)


def encode(packed: Sequence[Packed]) -> bytes:
    return _encoder.encode(packed)


def decode(data: bytes) -> list[Packed]:
    return _decoder.decode(data)


def area_ppm(box: tuple[int, int, int, int] | None) -> int:
    """Fraction of the picture that a packed box covers, in millionths; 0 without a box."""
    if box is None:
        return 0
    x0, y0, x1, y1 = box
    return max(0, x1 - x0) * max(0, y1 - y0) * PPM // (MOST_SIDE * MOST_SIDE)


def _pack_box(box: Box) -> tuple[int, int, int, int]:
    return _fraction(box.x0), _fraction(box.y0), _fraction(box.x1), _fraction(box.y1)


def _fraction(side: float) -> int:
    return 0 if side <= 0 else MOST_SIDE if side >= 1 else round(side * MOST_SIDE)
