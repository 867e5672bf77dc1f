"""Listing who and what is known by name, joining two names, and taking them apart."""

from __future__ import annotations

import json

import pytest

from edgemem.records import US
from edgemem.remember.entries import NewEntity
from edgemem.remember.store import Store

T0_US = 1_777_881_600 * US


@pytest.fixture
def people(tmp_path, home):
    directory = tmp_path / "people"
    assert home.parent == tmp_path
    with Store.open(directory) as store, store.transaction() as tx:
        for kind, name in (("person", "Tomas"), ("person", "Tomas Novak"), ("object", "Tomas"), ("location", "kitchen")):
            tx.add_entity(NewEntity(kind=kind, name=name, known_us=T0_US))
    return directory


def listed(run, people, *more):
    code, out, _ = run("entity", "list", "--memory", people, "--json", *more)
    assert code == 0
    return {(one["kind"], one["name"], tuple(one["also"])) for one in json.loads(out)["entities"]}


APART = {("person", "Tomas", ()), ("person", "Tomas Novak", ()), ("object", "Tomas", ()), ("location", "kitchen", ())}


def test_two_names_become_one_and_two_again(run, people):
    assert listed(run, people) == APART
    code, out, _ = run("entity", "merge", "tomas", "Tomas Novak", "--kind", "person", "--memory", people)
    assert code == 0
    assert "Tomas Novak" in out
    assert listed(run, people, "--kind", "person") == {("person", "Tomas Novak", ("Tomas",))}
    code, out, _ = run("entity", "split", "Tomas", "--kind", "person", "--memory", people, "--json")
    assert code == 0
    assert json.loads(out)["name"] == "Tomas"
    assert listed(run, people) == APART


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("merge", "Tomas", "Tomas Novak"), "say which with --kind"),
        (("merge", "Tomsa", "Tomas Novak"), 'no entity called "Tomsa"'),
        (("merge", "kitchen", "Tomas Novac"), 'did you mean "Tomas Novak"'),
        (("merge", "kitchen", "Kitchen"), "are one already"),
        (("split", "kitchen"), "part of no other name"),
        (("split", "Tomas", "--kind", "voice"), 'no voice called "Tomas"'),
    ],
)
def test_what_cannot_be_joined_or_parted_is_said(run, people, arguments, says):
    code, _, err = run("entity", *arguments, "--memory", people)
    assert (code, says in err) == (2, True), err
    assert listed(run, people) == APART


@pytest.mark.usefixtures("home")
def test_a_memory_without_names_says_so(run, tmp_path):
    with Store.open(tmp_path / "empty"):
        pass
    assert "nobody and nothing" in run("entity", "list", "--memory", tmp_path / "empty")[1]
