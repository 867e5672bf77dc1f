"""One segment of a composed stream: what is in view from when to when."""

import msgspec
from media import Item
from signs import Sign


class Segment(msgspec.Struct, frozen=True):
    """What is in view from `t0` to `t1` (seconds from the start, end exclusive).

    `things` are objects, photographs or the clip; `background` is the picture behind them.
    """

    t0: float
    t1: float
    what: str
    things: tuple[Item, ...] = ()
    background: Item | None = None
    sign: Sign | None = None

    @property
    def tags(self) -> frozenset[str]:
        """Every phrase that is true of something in view; nothing can be recognised in a blurred segment."""
        if self.what == "blurred":
            return frozenset()
        items = (*self.things, *((self.background,) if self.background else ()))
        return frozenset(tag for item in items for tag in item.tags)
