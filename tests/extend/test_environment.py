"""One environment: recipes are read and kits are made once, again when the file changed, and several threads may answer with one kit."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgemem.answer.planner import ask
from edgemem.errors import UsageError
from edgemem.extend.environment import Environment
from edgemem.extend.testing import T0_US
from edgemem.records import US, Observation, Question
from edgemem.remember.entries import NewDocument, NewMoment
from edgemem.remember.store import Store
from edgemem.remember.view import View

SIGNS = ("EXIT", "BAKERY", "PLATFORM", "LIBRARY")

PLANNER = '''
"""Searches three times for the question's last word, and answers with what came first."""
from edgemem.answer.generator_planner import Thinking
from edgemem.answer.tools import Reply, Search
from edgemem.extend.hookspecs import Component, hookimpl

class LastWord(Thinking):
    name = "last_word"
    def think(self, session):
        word = session.question.text.split()[-1]
        for top_k in (5, 6, 7):
            found = yield Search(query=word, channel="text", top_k=top_k)
        yield Reply(text=word, evidence=(found.evidence[0].id,), confidence=0.9)

@hookimpl
def register_planners():
    return (Component("last_word", lambda settings, context: LastWord()),)
'''


@pytest.fixture
def recipe(tmp_path: Path, home: Path) -> Path:
    assert home.parent == tmp_path
    path = tmp_path / "plain.toml"
    path.write_text('rate_fps = 1.0\n[plan]\nuse = "local"\n')
    return path


@pytest.fixture
def view(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "memory"
    with Store.open(directory) as store, store.transaction() as tx:
        for i, sign in enumerate(SIGNS):
            span = {"t0_us": T0_US + i * US, "t1_us": T0_US + i * US, "offset_us": i * US, "known_us": T0_US + i * US}
            moment = NewMoment(
                stream="walk", seq=i, t_us=T0_US + i * US, offset_us=i * US, width_px=1, height_px=1, sharpness=1.0,
                jpeg=b"jpeg", vectors={}, observations=(Observation(kind="text", name=sign, score=0.9),),
            )  # fmt: skip
            tx.add_document(NewDocument(kind="text", text=sign, stream="walk", origin="ocr", moment_id=tx.add_moment(moment), **span))
    return directory


def test_a_recipe_and_its_kits_are_made_once(recipe: Path) -> None:
    environment = Environment()
    first, kit = environment.recipe(str(recipe)), environment.kit(str(recipe))
    assert environment.recipe(str(recipe)) is first
    assert environment.kit(str(recipe)) is kit
    assert environment.kit(str(recipe), "local") is not kit
    assert environment.recipe("default") is environment.recipe() is not first


def test_a_recipe_is_read_again_when_its_file_changed(recipe: Path) -> None:
    environment = Environment()
    first, kit = environment.recipe(str(recipe)), environment.kit(str(recipe))
    before = recipe.stat()
    recipe.write_text(recipe.read_text().replace("1.0", "2.0"))
    os.utime(recipe, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert environment.recipe(str(recipe)) is first, "equal time and size: not even read"
    os.utime(recipe, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert environment.recipe(str(recipe)).rate_fps == 2.0
    assert environment.kit(str(recipe)) is not kit
    recipe.write_text("rate_fps = 25.0\n")
    os.utime(recipe, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert environment.recipe(str(recipe)).rate_fps == 25.0, "another size"
    recipe.unlink()
    with pytest.raises(UsageError, match="no such file"):
        environment.kit(str(recipe))


def test_what_sees_a_stream_is_made_anew_for_each(recipe: Path) -> None:
    environment = Environment()
    read = environment.recipe(str(recipe))
    (one, _), (other, _) = environment.parts(read), environment.parts(read)
    assert one.selector is not other.selector
    assert one.chains[0].segmenter is not other.chains[0].segmenter


def test_kits_of_many_recipes_do_not_pile_up(recipe: Path) -> None:
    environment = Environment()
    for number in range(40):
        path = recipe.with_name(f"r{number}.toml")
        path.write_text(recipe.read_text())
        environment.kit(str(path))
    assert len(environment._kits) == 32


def test_threads_that_share_a_kit_get_their_own_answers(recipe: Path, view: Path, tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "last_word.py").write_text(PLANNER)
    environment = Environment(plugins_dirs=[tmp_path / "plugins"])
    wrong: list[str] = []
    kits = set[int]()

    def answer(first: int) -> None:
        for number in range(first, first + 12):
            sign = SIGNS[number % len(SIGNS)]
            kit = environment.kit(str(recipe), "last_word")
            kits.add(id(kit))
            with View.open(view) as opened:
                text = f"What did the sign say about the {sign}"
                found, _ = ask(opened, Question(text=text, asked_us=T0_US, as_of_us=opened.as_of_us), kit)
            if sign not in found.answer or {one.text for one in found.evidence} != {sign}:
                wrong.append(f"{sign}: {found.answer} {[one.text for one in found.evidence]}")

    threads = [threading.Thread(target=answer, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(kits) == 1


def test_services_are_named_by_the_settings(home: Path) -> None:
    assert not home.exists()
    with pytest.raises(UsageError, match='no service is called "bell"'):
        Environment.load(None, ['run.services=[{use="bell"}]']).services()
    with pytest.raises(UsageError, match='needs use = "NAME"'):
        Environment.load(None, ['run.services=[{file="x"}]']).services()
    assert Environment().services() == {}
