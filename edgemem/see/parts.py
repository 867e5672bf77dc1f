"""The components of a recipe that see one stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from edgemem.events import Event
from edgemem.infer.roles import TextEmbedder
from edgemem.records import Segment
from edgemem.remember.tiers import Retainer
from edgemem.see.chains import Chain
from edgemem.see.gate import Gate
from edgemem.see.hearing import HearingFactory
from edgemem.see.perceive import Perceiver
from edgemem.see.privacy import Privacy
from edgemem.see.select import Selector


@dataclass
class PipelineParts:
    """The components that a recipe names. Only a selector and one chain are required."""

    selector: Selector
    chains: Sequence[Chain]
    gates: Sequence[Gate] = ()
    perceivers: Sequence[Perceiver] = ()
    hearing: HearingFactory | None = None
    """Makes the hearing of a source."""
    embedder: TextEmbedder | None = None
    """Embedder for passages. Without it, documents and speech are found by words only."""
    retainer: Retainer | None = None
    privacy: Privacy | None = None
    segment_closed: Callable[[Segment], object] = field(default=lambda _: None)
    """Called for every segment after it is committed."""
    publish: Callable[[Event], object] = field(default=lambda _: None)
    """Called with events, after the data they describe is committed."""
