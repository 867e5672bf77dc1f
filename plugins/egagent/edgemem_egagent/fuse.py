"""Fused captions: what was seen and what was said in one window, as one neutral paragraph (EGAgent, appendix E).

With a language model it is told to write the paragraph; without one a template does. Both keep read text and speech in quotation marks, and
the document's origin is that of its least trusted part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from edgemem.answer.compose import a, listed
from edgemem.clock import offset_text
from edgemem.records import US, Observation, Origin, Record, Segment, least_trusted
from edgemem.see.write import sure_names
from edgemem_egagent.ask import Completes, ask_text
from edgemem_egagent.graph import ME, Line

MOST_LABELS, MOST_OBJECTS, MOST_TEXTS = 4, 8, 8
_QUOTE_CHARS = 200


class Shown(Record, frozen=True):
    """A picture that a model is shown."""

    moment_id: int
    after_us: int
    """Since the beginning of the window."""
    jpeg: bytes


class Visible:
    """What the pictures of one window show, best first."""

    def __init__(self, seen: Sequence[Sequence[Observation]]) -> None:
        named = set(sure_names("object", seen))
        times: Counter[str] = Counter()
        at_once: Counter[str] = Counter()
        colours: defaultdict[str, Counter[str]] = defaultdict(Counter)
        texts: dict[str, str] = {}
        for observations in seen:
            sure = [o for o in observations if o.kind == "object" and o.name in named]
            for name, number in Counter(o.name for o in sure).items():
                times[name] += 1
                at_once[name] = max(at_once[name], number)
            for o in observations:
                if o.kind == "text" and o.name.strip():
                    texts.setdefault("".join(o.name.split()).casefold(), " ".join(o.name.split()))
                elif o in sure and o.colour:
                    colours[o.name][o.colour] += 1
        self.labels = sure_names("label", seen)[:MOST_LABELS]
        self.objects = [
            _described(name, at_once[name], [colour for colour, _ in colours[name].most_common(1)])
            for name, _ in times.most_common(MOST_OBJECTS)
        ]
        self.texts = list(texts.values())[:MOST_TEXTS]


def _described(name: str, number: int, colours: Sequence[str]) -> str:
    coloured = " ".join([*colours, name])
    plural = {"person": "people"}.get(name, f"{name}s")
    return f"{number} {plural}" if number > 1 else a(coloured)


def fused(
    segment: Segment,
    seen: Sequence[Sequence[Observation]],
    lines: Sequence[Line],
    models: Completes | None = None,
    shown: Sequence[Shown] = (),
) -> str:
    """One paragraph, "" where nothing was seen or said. Raises ChatError when a model is there and fails.

    `shown` are pictures for a model that sees: then its own eyes count, and what was detected stands beside them.
    """
    visible = Visible(seen)
    if not (visible.labels or visible.objects or visible.texts or lines or shown):
        return ""
    if models is not None and models.there:
        data = {
            "pictures": [{"picture": number, "second": round(one.after_us / US, 1)} for number, one in enumerate(shown, 1)],
            "labels": visible.labels, "objects": visible.objects, "text_read": visible.texts,
            "transcript": [{"speaker": line.speaker or "unknown", "said": line.text} for line in lines],
        }  # fmt: skip
        images, ids = tuple(one.jpeg for one in shown), tuple(f"m{one.moment_id}" for one in shown)
        return f"{_span(segment)} {' '.join(ask_text(models, 'fuse', data, images=images, image_ids=ids).split())}"
    return f"{_span(segment)} {' '.join(_sentences(visible, lines))}"


def _span(segment: Segment) -> str:
    end_us = segment.offset_us + segment.t1_us - segment.t0_us
    return f"[{offset_text(segment.offset_us)} to {offset_text(end_us)}]"


def _sentences(visible: Visible, lines: Sequence[Line]) -> list[str]:
    told = []
    if visible.labels:
        told.append(f"The view shows {listed(a(label) for label in visible.labels)}.")
    if visible.objects:
        told.append(f"There {'are' if visible.objects[0][:1].isdigit() else 'is'} {listed(visible.objects)}.")
    if visible.texts:
        told.append(f"The text {listed(_quote(text) for text in visible.texts)} can be read.")
    turns: list[tuple[str, list[str]]] = []
    for line in lines:
        if turns and turns[-1][0] == line.speaker:
            turns[-1][1].append(line.text)
        else:
            turns.append((line.speaker, [line.text]))
    told += [f"{_who(speaker)} {_quote(' '.join(words))}" for speaker, words in turns]
    return told


def _who(speaker: str) -> str:
    return {"": "Somebody says", ME: "The wearer says"}.get(speaker, f"{speaker} says")


def _quote(text: str) -> str:
    flat = " ".join(text.split()).replace('"', "'")
    return f'"{flat if len(flat) <= _QUOTE_CHARS else flat[: _QUOTE_CHARS - 1] + "…"}"'


def origin_of(seen: Sequence[Sequence[Observation]], lines: Sequence[Line]) -> Origin:
    """The least trusted of its parts: what was read, what was heard, what was labelled."""
    read = any(o.kind == "text" and o.name.strip() for observations in seen for o in observations)
    parts: list[Origin] = ["caption", *(line.origin for line in lines)]
    return least_trusted(*parts, "ocr") if read else least_trusted(*parts)
