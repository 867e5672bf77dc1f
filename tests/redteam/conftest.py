"""One memory that saw and read every attack; all tests use it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from attacks import ATTACKS
from scene import DAY_US, SECRET, TRUTH, Attacked
from wall import T0_US, Wall

from edgemem.cli.app import CommandContext
from edgemem.infer.card import cards_dir
from edgemem.infer.fetch import ensure
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.perceive import TextPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow
from edgemem.see.select import KeepAll
from edgemem.see.write import EventDocument


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory):
    """The real reader, with codes."""
    folder = tmp_path_factory.mktemp("cards")
    card = (cards_dir() / "ppocr-v6.toml").read_text(encoding="utf-8")
    (folder / "ppocr-v6.toml").write_text(card + "\n[parameters]\ncodes = true\n", encoding="utf-8")
    session = CommandContext(None, ("engines.threads=2", f"engines.cards=['{folder}']"))
    ensure(session.cards["ppocr-v6"], session.home, session.converters)
    return session.engines.role("read_text")


@pytest.fixture(scope="session")
def attacked(reader, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """Two true signs, then every attack; a week later a secret that no earlier question may find."""
    directory = tmp_path_factory.mktemp("memory")
    texts = [*TRUTH, *(attack.text for attack in ATTACKS)]
    with Store.open(directory) as store:
        for wall in (Wall("wall", texts), Wall("later", [SECRET], t0_us=T0_US + 7 * DAY_US)):
            parts = PipelineParts(selector=KeepAll(), chains=[Chain(FixedWindow(), [EventDocument()])], perceivers=[TextPerceiver(reader)])
            report = Pipeline(wall, parts, store).run()
            assert not report.notes
    return Attacked(directory, T0_US + 3 * DAY_US)
