"""After forgetting, what is left of an event is described again in the same way: by the writers of its chain, with vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edgemem.extend.environment import Environment
from edgemem.extend.hookspecs import Component, hookimpl
from edgemem.extend.plugins import Plugins
from edgemem.extend.testing import T0_US, FakeJointEmbedder
from edgemem.records import US, Observation
from edgemem.remember.entries import NewDocument, NewMoment, NewPassage, NewSegment
from edgemem.remember.forgetting.selection import Wanted
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.operations import BaseWriter
from edgemem.see.segment import FixedWindow
from edgemem.serve.admin import forget
from edgemem.serve.messages import ForgetRequest

RECIPE = """
summary = "two notions of a segment"
write = [{ use = "told" }]
[segment]
use = "scenes"
[[chain]]
segment = { use = "fixed_window", seconds = 30.0 }
write = [{ use = "counted" }]
"""
THINGS = ("zebra", "quilt", "mango")


class Told(BaseWriter):
    """Writes what was seen, as a passage to be found by its meaning."""

    name = "told"

    def write(self, occasion: Any) -> Iterator[NewDocument]:
        segment = occasion.segment
        text = self.text([seen.name for moment in occasion.moments for seen in occasion.observations[moment.id]])
        span = {"stream": segment.stream, "t0_us": segment.t0_us, "t1_us": segment.t1_us, "offset_us": segment.offset_us}
        passages = (NewPassage(kind="document", text=text, vectors={}),)
        yield NewDocument(
            kind="event", text=text, known_us=segment.t1_us, origin="caption", segment_id=segment.id, passages=passages, **span
        )

    def text(self, names: list[str]) -> str:
        return " ".join(names)


class Counted(Told):
    name = "counted"

    def text(self, names: list[str]) -> str:
        return f"{len(names)} things"


class Scenes(FixedWindow):
    """Another segmenter."""

    name = "scenes"


class Roles:
    """Engines with only the text embedder."""

    def has(self, role: str) -> bool:
        return role == "embed_text"

    def role(self, role: str) -> FakeJointEmbedder:
        assert role == "embed_text"
        return FakeJointEmbedder()


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    directory = tmp_path / "memory"
    with Store.open(directory) as store, store.transaction() as tx:
        ids = tuple(
            tx.add_moment(
                NewMoment(
                    stream="door", seq=i, t_us=T0_US + i * US, offset_us=i * US, width_px=1, height_px=1, sharpness=1.0,
                    jpeg=b"picture" + bytes([i]), vectors={}, observations=(Observation(kind="label", name=thing, score=0.9),),
                )
            )
            for i, thing in enumerate(THINGS)
        )  # fmt: skip
        for segmenter in ("scenes", "fixed_window"):
            tx.add_segment(
                NewSegment(
                    stream="door", segmenter=segmenter, t0_us=T0_US, t1_us=T0_US + 2 * US, offset_us=0, moment_ids=ids,
                    representative_id=ids[0],
                )
            )  # fmt: skip
    return directory


def test_what_is_described_anew_is_found_by_its_meaning_and_told_by_its_own_track(memory: Path, tmp_path: Path) -> None:
    @hookimpl
    def register_writers() -> tuple[Component, ...]:
        return (Component("told", lambda *_: Told()), Component("counted", lambda *_: Counted()))

    @hookimpl
    def register_segmenters() -> tuple[Component, ...]:
        return (Component("scenes", lambda *_: Scenes()),)

    plugin = SimpleNamespace(__name__="two", register_writers=register_writers, register_segmenters=register_segmenters)
    recipe = tmp_path / "two.toml"
    recipe.write_text(RECIPE)
    environment = Environment()
    environment.plugins, environment.engines, environment.home = Plugins.of(plugin), Roles(), tmp_path  # type: ignore[assignment]
    assert forget(memory, ForgetRequest(wanted=Wanted(evidence=("m2",)), recipe=str(recipe)), environment).receipt.moments == 1
    with closing(View.open(memory)) as view:
        assert sorted(document.text for document in view.documents(kinds=["event"])) == ["2 things", "zebra mango"]
        vector = FakeJointEmbedder().embed_text(["mango zebra"])[0]
        hits = view.search_passages("fake-colours", vector, 1)
    assert [hit.document.text for hit in hits] == ["zebra mango"]
