"""Settings of the planner `egagent`, in a light file: every process that answers a question reads them, whoever its planner is."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from edgemem_egagent.graph import RELATIONS

MAX_STEPS = 5
"""EGAgent, appendix E."""


class PlannerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How EGAgent works through a question."""

    max_steps: Annotated[int, msgspec.Meta(ge=1, le=MAX_STEPS)] = MAX_STEPS
    route: Literal["one", "all"] = "one"
    """"one": each sub-task goes to its tool, as the paper says; "all": to all three, as the released code does."""
    early_exit: bool = True
    """Stop when the grader says that the findings suffice, as the paper says."""
    revise: bool = True
    """Later sub-tasks are worded anew, with new arguments, from what was found: one more call each."""
    min_rows: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    """Rows with which a relaxation step is content: 1 in the paper, 4 in the released code."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=10)] = 3
    spare: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.15
    """Share of the question's tokens and seconds that is kept back for the answer."""
    relations: tuple[str, ...] = RELATIONS
    """Types of relations that a sub-task may name: those that the recipe's writer draws."""
