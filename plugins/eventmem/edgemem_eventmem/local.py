"""The planner `react` without a language model: a small policy chooses the tools (EventMemAgent section 3.4, as far as a board trains).

The policy is a softmax over a few tools, linear in features of the question and of what the memory has brought so far. `grpo` trains it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
import numpy as np

from edgemem.extend import Record, Refused, Reply, ToolResult
from edgemem_eventmem.actions import DetectObjects, Events, Frames, ReadPicture, SearchMemory
from edgemem_eventmem.compose import LEAST_FIT, Fit, fits, reply_from

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem.extend import Session

    Features = npt.NDArray[np.float64]
    Mask = npt.NDArray[np.bool_]

Choice = Literal["answer", "search", "search_time", "ocr_frame", "ocr_event", "detect_frame", "detect_event"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
STEPS = 4
"""Most tools that are used for one question."""
_KINDS = ("where", "when", "what", "who", "which", "order", "how_many", "yes_no")
FEATURES = (
    "bias", *(f"kind {kind}" for kind in _KINDS), "names a time", "asks for what was read", "asks for what was seen", "names a thing",
    "short-term fit", "fit of what tools brought", "searched", "read", "detected", "steps taken",
)  # fmt: skip


class State(Record, frozen=True):
    """Where a question stands: what was done, what it brought."""

    frames: Frames
    recent: tuple[Fit, ...] = ()
    """The frames of short-term memory, those that fit the question best first, of equal ones the newest."""
    done: tuple[Any, ...] = ()
    results: tuple[ToolResult, ...] = ()

    @classmethod
    def of(cls, session: Session, frames: Frames) -> State:
        """Before the first step."""
        return cls(frames=frames, recent=tuple(fits(session, frames, ())))

    def after(self, action: Any, result: ToolResult | None) -> State:
        """One step later; a refused action brings nothing."""
        brought = () if result is None else (result,)
        return State(frames=self.frames, recent=self.recent, done=(*self.done, action), results=(*self.results, *brought))

    @property
    def recent_fit(self) -> float:
        """How far short-term memory has to do with the question, 0..1."""
        return self.recent[0].share if self.recent else 0.0

    @property
    def fitting_frame(self) -> int | None:
        """The frame of short-term memory that fits best; None where there is none."""
        best = self.recent[0].evidence.id if self.recent else ""
        return next((frame.index for frame in self.frames.frames if frame.evidence.id == best), None)


Choose = Callable[["Features", "Mask"], int]
"""Features of a state and which choices are possible -> the index of the choice."""


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights [choice, feature], as they are shipped."""

    choices: tuple[str, ...]
    features: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, weights: npt.NDArray[np.float64]) -> Policy:
        """float64 [choices, features]."""
        return cls(choices=CHOICES, features=FEATURES, weights=tuple(tuple(round(float(w), 4) for w in row) for row in weights))

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """float64 [choices, features]. Raises ValueError for weights of another edgemem."""
        if (self.choices, self.features) != (CHOICES, FEATURES):
            raise ValueError("these weights belong to other choices or features")
        return np.array(self.weights, np.float64)


def probabilities(weights: npt.NDArray[np.float64], features: Features, possible: Mask) -> npt.NDArray[np.float64]:
    """Softmax over the possible choices: float64 [choices]; 0 for the others."""
    logits: Features = np.where(possible, weights @ features, -np.inf)
    raised: Features = np.exp(logits - logits.max())
    return raised / float(raised.sum())


class LocalPolicy:
    """Answers a question by the tools that a policy chooses."""

    def __init__(self, policy: Policy) -> None:
        self._weights = policy.matrix

    @classmethod
    def shipped(cls) -> LocalPolicy:
        """With the weights that come with the plugin."""
        return cls(_shipped())

    def best(self, features: Features, possible: Mask) -> int:
        """The most likely choice."""
        return int(np.argmax(probabilities(self._weights, features, possible)))

    def answer(self, session: Session, frames: Frames) -> Generator[Any, Any, Reply]:
        """Yields actions, is sent their results, returns the reply."""
        return (yield from steps(session, frames, self.best))


def steps(session: Session, frames: Frames, choose: Choose) -> Generator[Any, Any, Reply]:
    """One question: actions as `choose` says, at most `STEPS`, then the reply from what they brought."""
    state = State.of(session, frames)
    for _ in range(STEPS):
        actions = possible_actions(session, state)
        choice = choose(features_of(session, state), np.array([name in actions for name in CHOICES]))
        action = actions[CHOICES[choice]]
        if action is None:
            break
        result = yield action
        state = state.after(action, None if isinstance(result, Refused) else result)
    return reply_from(session, state.frames, state.results)


def possible_actions(session: Session, state: State) -> dict[Choice, Any]:
    """What may be done now; nothing is done twice. "answer" is always possible, its action is None.

    A question that names no time is answered from short-term memory where that has to do with it; long-term memory is searched only where
    it has not (appendix C.1).
    """
    asked = _asked(session)
    span = session.span
    timed = span.from_us is not None or span.to_us is not None
    offered: dict[Choice, Any] = {"answer": None}
    if timed or state.recent_fit < LEAST_FIT:
        query = " ".join(asked)[:400] or session.question.text[:400]
        within = (None, None) if span.fell_back else (span.from_us, span.to_us)
        offered["search"] = SearchMemory(query=query, from_us=within[0], to_us=within[1])
    if timed:
        offered["search_time"] = SearchMemory(from_us=span.from_us, to_us=span.to_us)
    event = next((one.events[0].id for one in reversed(state.results) if isinstance(one, Events) and one.events), None)
    frame = state.fitting_frame
    if frame is not None:
        offered["ocr_frame"] = ReadPicture(frame_index=frame)
    if event is not None:
        offered["ocr_event"] = ReadPicture(event_id=event)
    labels = tuple(name[:60] for name in asked[:5])
    if labels and frame is not None:
        offered["detect_frame"] = DetectObjects(labels=labels, frame_index=frame)
    if labels and event is not None:
        offered["detect_event"] = DetectObjects(labels=labels, event_id=event)
    return {choice: action for choice, action in offered.items() if action not in state.done}


def features_of(session: Session, state: State) -> Features:
    """float64 [features], each 0..1, in the order of `FEATURES`."""
    parsed, brought = session.parsed, fits(session, Frames(), state.results)
    kinds = [type(action) for action in state.done]
    return np.array(
        [
            1.0,
            *(float(parsed.kind == kind) for kind in _KINDS),
            float(session.span.from_us is not None or session.span.to_us is not None),
            float(parsed.hint == "read"),
            float(parsed.hint == "seen"),
            float(bool(parsed.things)),
            state.recent_fit,
            brought[0].share if brought else 0.0,
            float(SearchMemory in kinds),
            float(ReadPicture in kinds),
            float(DetectObjects in kinds),
            len(state.done) / STEPS,
        ]
    )


def _asked(session: Session) -> Sequence[str]:
    return session.parsed.things or session.parsed.words


@cache
def _shipped() -> Policy:
    return msgspec.json.decode((files(__package__) / "policy.json").read_bytes(), type=Policy)
