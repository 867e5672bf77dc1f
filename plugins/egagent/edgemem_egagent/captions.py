"""Captions from pixels: a model that sees is shown pictures of the window, and what it writes is what edges are drawn from.

EGAgent has every clip of 30 s captioned by a model that sees, joins the caption with the transcript, and draws the graph from that
(appendix E). The writer of captions and the writer of edges need the same one: whoever comes first has it made.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from edgemem.errors import ChatError, MemoryDirError
from edgemem.records import Moment, Record
from edgemem.see.operations import SegmentClosed
from edgemem_egagent.ask import Completes
from edgemem_egagent.fuse import Shown, fused
from edgemem_egagent.graph import Line

FRAMES = 10
"""Pictures of a window that a model is shown at most: one for every three seconds of a window of 30 s."""
_KEPT = 16
"""Captions that are kept for the writer that comes second."""
_COMMITTED_WITHIN_S = 10.0
"""A writer that takes its time may be called before the pictures of its segment are committed."""
_LOOK_AGAIN_S = 0.2
RETRY_S = 60.0
"""A model that failed is asked again for the same window after this time, not before."""
TASK = "egagent_fuse"


class Caption(Record, frozen=True):
    """What a model wrote of a window; with `error` it wrote nothing."""

    made_s: float
    """By the monotonic clock."""
    text: str = ""
    error: str = ""


class Captioner:
    """Fused captions by a language model, each made once."""

    def __init__(self, models: Completes) -> None:
        self._models = models
        self._made: OrderedDict[tuple[int, ...], Caption] = OrderedDict()
        self._lock = threading.Lock()

    def caption(self, closed: SegmentClosed, lines: Sequence[Line], frames: int = FRAMES) -> str:
        """The paragraph of this window, "" where nothing was seen or said. Raises ChatError when the model fails, which then rests."""
        key = (closed.segment.id, *(moment.id for moment in closed.moments), *(spoken.document.id for spoken in closed.utterances))
        with self._lock:
            made = self._made.get(key)
            if made is None or (made.error and time.monotonic() - made.made_s >= RETRY_S):
                made = self._made[key] = self._make(closed, lines, frames)
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
        if made.error:
            raise ChatError(made.error)
        return made.text

    def _make(self, closed: SegmentClosed, lines: Sequence[Line], frames: int) -> Caption:
        seen = [closed.observations.get(moment.id, ()) for moment in closed.moments]
        shown = pictures(closed, frames) if self._models.sees(TASK) else ()
        try:
            return Caption(text=fused(closed.segment, seen, lines, self._models, shown), made_s=time.monotonic())
        except ChatError as error:
            return Caption(error=str(error), made_s=time.monotonic())


_CAPTIONERS: WeakKeyDictionary[Completes, Captioner] = WeakKeyDictionary()


def captioner_of(models: Completes) -> Captioner:
    """The one captioner of these models."""
    return _CAPTIONERS.setdefault(models, Captioner(models))


def pictures(closed: SegmentClosed, frames: int) -> tuple[Shown, ...]:
    """At most so many pictures of the window, evenly spaced in the order of time; those that have faded are left out."""
    chosen = evenly(closed.moments, frames)
    if closed.open_view is None or not chosen:
        return ()
    until = time.monotonic() + _COMMITTED_WITHIN_S
    while True:
        with closed.open_view() as view:
            known = view.moments_of([moment.id for moment in chosen])
            if len(known) == len(chosen) or time.monotonic() > until:
                found = []
                for moment in chosen:
                    try:
                        found.append(Shown(moment_id=moment.id, after_us=moment.t_us - closed.segment.t0_us, jpeg=view.picture(moment.id)))
                    except MemoryDirError:
                        continue
                return tuple(found)
        time.sleep(_LOOK_AGAIN_S)


def evenly(moments: Sequence[Moment], most: int) -> list[Moment]:
    """At most so many, from the first to the last, evenly spaced; of two or more the ends are always among them."""
    if len(moments) <= most:
        return list(moments)
    if most < 2:
        return [moments[len(moments) // 2]] if most else []
    return [moments[round(i * (len(moments) - 1) / (most - 1))] for i in range(most)]
