"""Figures of a comparison by hand, and the command on real pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from edgemem.cli.main import cli
from edgemem.errors import UsageError
from edgemem.records import US, Answer, Evidence, Usage
from edgemem.serve.compare import Cost, TruthQuestion, is_right, near, read_questions, scored


def answer(text: str = "", status: str = "answered", option: int | None = None, *offsets_s: float) -> Answer:
    evidence = tuple(
        Evidence(
            id=f"m{n}", channel="frame", stream="s", t0_us=0, t1_us=2 * US, offset_us=round(offset * US), score=1.0, text=""
        )
        for n, offset in enumerate(offsets_s)
    )  # fmt: skip
    return Answer(
        question="", status=status, answer=text, option=option, confidence=0.5, evidence=evidence, steps=1, usage=Usage()
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "given", "right"),
    [
        (TruthQuestion(question="q", answer="red mug|cup"), answer("A red mug."), True),
        (TruthQuestion(question="q", answer="red mug|cup"), answer("Cups."), False),
        (TruthQuestion(question="q", answer="cup"), answer("cup", "abstained"), False),
        (TruthQuestion(question="q", answer="b", options=("a", "b")), answer("a", "answered", 1), True),
        (TruthQuestion(question="q", answer="b", options=("a", "b")), answer("b", "answered", 0), False),
        (TruthQuestion(question="q", answer="b", options=("a", "b")), answer("b"), False),
        (TruthQuestion(question="q", unanswerable=True), answer("", "abstained"), True),
        (TruthQuestion(question="q", unanswerable=True), answer("x"), False),
        (TruthQuestion(question="q"), answer("x"), False),
    ],
)
def test_what_is_right(question: TruthQuestion, given: Answer, right: bool):
    assert is_right(question, given) is right


def test_what_is_near():
    question = TruthQuestion(question="q", spans=((100.0, 110.0),))
    assert near(question, answer("", "answered", None, 88.0), 10.0)  # it ends at 90 s
    assert not near(question, answer("", "answered", None, 87.9), 10.0)
    assert near(question, answer("", "answered", None, 120.0), 10.0)
    assert not near(question, answer("", "answered", None, 120.1), 10.0)
    assert not near(question, answer("", "answered", None, 1, 2, 3, 4, 5, 105), 10.0)  # the sixth


def test_the_figures_of_a_recipe():
    questions = [
        TruthQuestion(question="a", answer="x", spans=((5.0, 6.0),)), TruthQuestion(question="b", answer="x", spans=((500.0, 501.0),)),
        TruthQuestion(question="c", unanswerable=True), TruthQuestion(question="d", unanswerable=True, spans=((1.0, 2.0),)),
    ]  # fmt: skip
    asked = [
        (answer("x", "answered", None, 5.0), 10.0), (answer("", "abstained", None, 5.0), 20.0), (answer("", "abstained"), 30.0),
        (answer("x"), 40.0),
    ]  # fmt: skip
    found = scored("r", questions, asked, 10.0, Cost(real_time=2.0, disk_bytes=3, ram_bytes=4))
    assert (found.right, found.recall, found.abstained, found.wrongly_abstained) == (0.5, 0.5, 0.5, 0.5)
    assert (found.p50_ms, found.real_time, found.disk_bytes, found.ram_bytes) == (25.0, 2.0, 3, 4)
    assert 30 < found.p95_ms <= 60
    one = scored("r", questions[:1], asked[:1], 10.0, Cost(real_time=1.0, disk_bytes=1, ram_bytes=1))
    assert (one.abstained, one.p95_ms) == (None, 10.0)


def test_what_is_no_list_of_questions_is_refused(tmp_path: Path):
    for text in ("{}", "[]", '[{"answer": "x"}]', "text"):
        path = tmp_path / "q.json"
        path.write_text(text)
        with pytest.raises(UsageError, match=r"q\.json"):
            read_questions(path)
    with pytest.raises(UsageError, match="No such file"):
        read_questions(tmp_path / "none.json")
    path.write_text('[{"question": "q", "id": 7}]')
    assert read_questions(path) == [TruthQuestion(question="q")]


RECIPE = """
rate_fps = 1.0
embed_text = false
[segment]
use = "fixed_window"
"""


def test_two_recipes_are_compared_over_real_pictures(tmp_path: Path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number, colour in enumerate(("red", "blue", "green")):
        Image.blend(Image.linear_gradient("L").convert("RGB"), Image.new("RGB", (256, 256), colour), 0.5).save(pictures / f"{number}.jpg")
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "all.toml").write_text(RECIPE)
    (recipes / "blurred.toml").write_text(RECIPE + '[[gate]]\nuse = "blur"\nthreshold = 1e6\n')
    questions = tmp_path / "q.json"
    questions.write_text(json.dumps([{"question": "Did I see a submarine?", "unanswerable": True}]))
    chart = tmp_path / "chart.png"
    arguments = ["--set", f'recipes_dirs=["{recipes}"]', "recipes", "compare", str(pictures), "--questions", str(questions)]
    chosen = ["--recipe", "all", "--recipe", "blurred", "--out", str(chart), "--memories", str(tmp_path / "kept"), "--json"]
    done = CliRunner().invoke(cli, [*arguments, *chosen])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [one["recipe"] for one in found["recipes"]] == ["all", "blurred"]
    assert [one["right"] for one in found["recipes"]] == [1.0, 1.0]
    assert all(one["ram_bytes"] > 30 << 20 and one["disk_bytes"] > 10_000 for one in found["recipes"])
    assert found["recipes"][0]["disk_bytes"] != found["recipes"][1]["disk_bytes"]
    with Image.open(chart) as picture:
        assert picture.size == (1210, 660)
    again = CliRunner().invoke(cli, [*arguments, *chosen])
    assert isinstance(again.exception, UsageError)
    assert "empty folder" in str(again.exception)


def test_the_name_of_a_recipe_still_prints_it():
    assert 'name = "default"' in CliRunner().invoke(cli, ["recipes", "default"]).output
    assert json.loads(CliRunner().invoke(cli, ["recipes", "default", "--json"]).output)["rate_fps"] == 1.0
    assert "default" in CliRunner().invoke(cli, ["recipes"]).output
    assert "recipes" in json.loads(CliRunner().invoke(cli, ["recipes", "--json"]).output)
