"""Questions that go on about the one before: what they leave out is as it was there."""

from __future__ import annotations

import re

import msgspec

from edgemem.answer.understand.record import Parsed
from edgemem.answer.understand.wordings import ORDINALS, pattern
from edgemem.infer.phrase import COLOUR_WORDS


def goes_on(plain: str) -> bool:
    """Whether a question in its normal form goes on about one that is not known."""
    return pattern("FOLLOWS").search(plain.rstrip(" ?!.")) is not None


def followed(parsed: Parsed, before: Parsed) -> Parsed:
    """What a follow-up leaves out is as it was in the question before: kind, things, place and time."""
    bare = parsed.kind in {"other", "where"} and not re.search(r"\bwhere\b", parsed.text)
    step = re.search(r"\bone (before|after)\b|\b(?:any )?(earlier|later)\b", parsed.text)
    things = tuple(thing for thing in parsed.things if not set(thing.split()) <= {*COLOUR_WORDS, *ORDINALS, "one"})
    place = next((ORDINALS[word] for thing in parsed.things for word in thing.split() if word in ORDINALS and thing not in things), 0)
    attribute = " ".join(word for thing in parsed.things for word in thing.split() if word in COLOUR_WORDS)
    kept = things or tuple(f"{attribute} {thing}".strip() for thing in before.things)
    ordinal = parsed.ordinal or place or (({"before": -2, "earlier": -2, "after": 2, "later": 2}[step[1] or step[2]]) if step else 0)
    return msgspec.structs.replace(
        parsed, kind=before.kind if bare else parsed.kind, things=kept, ordinal=ordinal, place=parsed.place or before.place,
        time=parsed.time or before.time, form=parsed.form or before.form if bare else parsed.form,
        words=tuple(dict.fromkeys((*parsed.words, *before.words))), follows=False,
    )  # fmt: skip
