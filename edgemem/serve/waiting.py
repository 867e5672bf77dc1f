"""Pictures that wait for the vectors of a server: those of a recording get them at its end, those of cameras when the board is idle."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from edgemem.errors import BudgetError, EngineError, SourceError
from edgemem.see.waiting import embed_waiting, waits

if TYPE_CHECKING:
    from edgemem.extend.environment import Environment
    from edgemem.infer.roles import JointEmbedder
    from edgemem.remember.store import Store

LEAST_S = 60.0
"""At the end of a recording its pictures get their vectors within this time, or within the time that seeing took if that is longer."""
_AGAIN_S = 60.0
"""Wait after a failure."""
_FAILURES = (EngineError, BudgetError, SourceError)
"""The server does not answer, the memory is full, a stored picture is damaged."""


class WaitingPictures:
    """Gives pictures of one memory the vectors that wait. A failure is reported when it is another than before."""

    def __init__(self, environment: Environment, store: Store, report: Callable[[str], object]) -> None:
        self._environment, self._store, self._report = environment, store, report
        self._again_s = 0.0
        self._failed = ""

    def __call__(self, deadline_s: float) -> bool:
        """Embed until `time.monotonic()` reaches the deadline; nothing for a minute after a failure. True if there is more to do now."""
        if time.monotonic() < self._again_s or (joint := _joint(self._environment)) is None:
            return False
        try:
            return embed_waiting(self._store, joint, deadline_s)
        except _FAILURES as error:
            self._again_s = time.monotonic() + _AGAIN_S
            if str(error) != self._failed:
                self._failed = str(error)
                self._report(_line(waits(self._store, joint), joint, self._failed))
        return False


def embed_recording(environment: Environment, store: Store, seconds_spent: float) -> str:
    """Embed what waits after a recording that took so many seconds to see. What is left and why, in a line for a person; "" = nothing."""
    joint = _joint(environment)
    if joint is None:
        return ""
    why = ""
    try:
        embed_waiting(store, joint, time.monotonic() + max(LEAST_S, seconds_spent))
    except _FAILURES as error:
        why = str(error)
    left = waits(store, joint)
    return _line(left, joint, why or "the time was not enough") if left else ""


def _joint(environment: Environment) -> JointEmbedder | None:
    if environment.engines.missing("embed_joint"):
        return None
    try:
        joint: JointEmbedder = environment.engines.role("embed_joint")
    except EngineError:  # the run says so
        return None
    return joint


def _line(count: int, joint: JointEmbedder, why: str) -> str:
    later = "they get it after the next recording, or when an agent is idle"
    return f"{count} pictures have no vector of {joint.space.name} yet: {why}; {later}"
