"""Vectors of kept pictures that a server makes. They are added in batches afterwards, so that no frame waits for a server and pictures that
were kept while it was away get theirs too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from edgemem.see import pixels

if TYPE_CHECKING:
    from edgemem.infer.roles import JointEmbedder
    from edgemem.remember.store import Store

BATCH = 16
"""Pictures of one batch: about 5 MB as they are stored, and what is lost when power fails in its middle."""


def embed_waiting(store: Store, joint: JointEmbedder, deadline_s: float) -> bool:
    """Give the moments that wait for it their vector in the space of `joint`, the oldest first; no batch begins after `time.monotonic()`
    reached the deadline. True where some are left.

    Only a memory that has this space is concerned: a run with the recipe's perceiver creates it. Raises EngineError if the server does not
    answer, BudgetError if the vectors do not fit into the memory; everything before is stored.
    """
    while joint.space.name != joint.local.space.name and time.monotonic() < deadline_s:
        with store.view() as view:
            waiting = view.moments_without_vector(joint.space.name, BATCH)
            pictures = [pixels.decode(view.picture(moment.id)) for moment in waiting]
        if not waiting:
            return False
        vectors = joint.embed_images(pictures)
        with store.transaction() as tx:
            for moment, vector in zip(waiting, vectors, strict=True):
                tx.add_moment_vector(moment.id, joint.space.name, vector)
    return waits(store, joint) > 0


def waits(store: Store, joint: JointEmbedder) -> int:
    """How many moments wait for their vector, at most 100,000."""
    if joint.space.name == joint.local.space.name:
        return 0
    with store.view() as view:
        return len(view.moments_without_vector(joint.space.name, 100_000))
