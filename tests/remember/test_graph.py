"""Relations: merges that can be reversed, and searches from strict to relaxed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import MemoryDirError, UsageError
from edgemem.records import US, Quote
from edgemem.remember.disk import keys
from edgemem.remember.entries import NewDocument, NewEntity, NewRelation
from edgemem.remember.rows.graph import GraphReading
from edgemem.remember.store import Store

TIMES = st.integers(0, 20)


def entity(tx, name, kind="person", known_us=0):
    return tx.add_entity(NewEntity(kind=kind, name=name, known_us=known_us))


def relation(tx, source, kind, target, t0_us=0, t1_us=None, known_us=None, **more):
    t1_us = t0_us if t1_us is None else t1_us
    known_us = t1_us if known_us is None else known_us
    new = NewRelation(type=kind, source_id=source, target_id=target, stream="cam", t0_us=t0_us, t1_us=t1_us, known_us=known_us, **more)
    return tx.add_relation(new)


def test_two_names_of_one_person_become_one_and_two_again(store):
    with store.transaction() as tx:
        jake, full, cup = entity(tx, "Jake"), entity(tx, "Jake Smith"), entity(tx, "cup", "object")
        tx.add_alias(jake, "J.", 0)
        old, new = relation(tx, jake, "USES", cup), relation(tx, full, "USES", cup, US)
    with store.view() as view:
        assert [e.name for e in view.entities()] == ["Jake", "Jake Smith", "cup"]
    with store.transaction() as tx:
        merge = tx.merge_entity(full, jake, 5 * US)
        assert tx.merge_entity(full, jake, 6 * US) == tx.merge_entity(jake, full, 7 * US) == merge
    with store.view() as view:
        one = view.entity(full)
        assert (one.id, one.name, one.aliases) == (jake, "Jake Smith", ("Jake", "J."))
        assert view.entities() == [one, view.entity(cup)]
        assert view.entities(name="jake") == view.entities(name="JAKE SMITH") == view.entities(name="j.") == [one]
        assert [r.id for r in view.relations(entity_id=full)] == [r.id for r in view.relations(entity_id=jake)] == [old, new]
        assert {r.source for r in view.relations()} == {one}
        assert view.stats().entities == 2
    with store.view(4 * US) as earlier:
        assert [e.name for e in earlier.entities()] == ["Jake", "Jake Smith", "cup"]
    with store.transaction() as tx:
        tx.unmerge(merge, 9 * US)
        with pytest.raises(MemoryDirError):
            tx.unmerge(merge, 9 * US)
    with store.view() as view, store.view(8 * US) as earlier:
        assert [r.source.name for r in view.relations()] == ["Jake", "Jake Smith"]
        assert [r.source.name for r in earlier.relations()] == ["Jake Smith", "Jake Smith"]


def test_a_number_is_no_complete_name(store):
    with store.transaction() as tx:
        number, tomas = entity(tx, "speaker 3 of the hall"), entity(tx, "Tomas")
        tx.merge_entity(tomas, number, 0)
        other = entity(tx, "voice of a man", "voice")
        tx.merge_entity(other, number, 0)
    with store.view() as view:
        assert view.entity(other).name == "Tomas"


def test_a_view_that_stays_open_sees_a_merge_that_is_made_meanwhile(store):
    with store.transaction() as tx:
        a, b = entity(tx, "a"), entity(tx, "b")
    with store.view() as view:
        assert len(view.entities()) == 2
        with store.transaction() as tx:
            tx.merge_entity(a, b, 0)
        assert len(view.entities()) == 1


@given(merges=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), TIMES, TIMES), max_size=8), cut=TIMES)
@settings(max_examples=30)
def test_any_history_of_merges_leaves_every_relation_with_two_known_ends(making, merges, cut):
    with making.store() as store:
        with store.transaction() as tx:
            since = [0, 3, 6, 9, 12]
            ids = [entity(tx, f"name {chr(97 + i)}", known_us=known) for i, known in enumerate(since)]
            edges = {relation(tx, a, "TALKS_TO", b, known_us=0): (i, j) for i, a in enumerate(ids) for j, b in enumerate(ids) if i != j}
            for a, b, known_us, until_us in merges:
                if a != b:
                    merge = tx.merge_entity(ids[a], ids[b], known_us)
                    if (
                        until_us > known_us
                        and tx.connection.execute("SELECT 1 FROM entity_merge WHERE id = ? AND until_us IS NULL", (merge,)).fetchone()
                    ):
                        tx.unmerge(merge, until_us)
        with store.view(cut) as view:
            known = {e.id for e in view.entities()}
            assert known <= {key for key, start in zip(ids, since, strict=True) if start <= cut}
            assert bool(known)
            assert {r.id for r in view.relations()} == {key for key, ends in edges.items() if all(since[i] <= cut for i in ends)}
            for r in view.relations():
                assert {r.source.id, r.target.id} <= known
                names = {name for e in view.entities() for name in (e.name, *e.aliases)}
                assert {r.source.name, r.target.name} <= names
            for e in view.entities():
                assert all(view.entities(name=name) == [e] for name in (e.name, *e.aliases))
            assert view.stats().entities == len(known)


DAY = 86_400 * US


@pytest.fixture
def week(store):
    """Tomas and Anna for seven days: he talks to her at nine, uses his cup at ten, and on day 3 the blue cup at eleven."""
    with store.transaction() as tx:
        tomas, anna = entity(tx, "Tomas Novak"), entity(tx, "Anna")
        cup, blue = entity(tx, "cup", "object"), entity(tx, "blue coffee cup", "object")
        tx.add_alias(tomas, "Tom", 0)
        for day in range(7):
            quotes = (Quote(text=f"morning {day}", origin="asr"), Quote(text="hello", origin="asr"))
            relation(tx, tomas, "TALKS_TO", anna, day * DAY + 9 * 3600 * US, day * DAY + 9 * 3600 * US + 90 * US, quotes=quotes)
            relation(tx, tomas, "USES", cup, day * DAY + 10 * 3600 * US)
        relation(tx, anna, "USES", blue, 3 * DAY + 11 * 3600 * US)
    return store


def found(view, *wanted, **more):
    got = view.ladder(*wanted, **more)
    return got.step, [(r.source.name, r.type, r.target.name, r.t0_us // DAY) for r in got.relations]


def test_the_ladder_takes_the_strictest_rung_that_finds_something(week):
    def hour(day, number):
        return {"from_us": day * DAY + number * 3600 * US, "to_us": day * DAY + (number + 1) * 3600 * US - 1}

    with week.view() as view:
        tom_uses = [("Tomas Novak", "USES", "cup", day) for day in range(7)]
        assert found(view, "tom", "cup", "uses", **hour(2, 10)) == ("a", tom_uses[2:3])
        assert found(view, "Tom", "cup", "USES", **hour(2, 9)) == ("b", tom_uses[2:3])
        assert found(view, "Tom", "cup", "USES", **hour(9, 9)) == ("c", tom_uses)
        assert found(view, "Tom", "cup", "USES", min_rows=4, **hour(2, 10)) == ("c", tom_uses)
        assert found(view, "Novak", "cups of coffee", "USES") == ("target", [("Anna", "USES", "blue coffee cup", 3)])
        assert found(view, "Novak", "cup", "USES") == ("d", tom_uses)
        assert found(view, "Anna", "my coffee mug", "TALKS_TO") == ("e", [("Anna", "USES", "blue coffee cup", 3)])
        assert found(view, "Nobody", "cup", "USES") == ("target", [*tom_uses[:4], ("Anna", "USES", "blue coffee cup", 3), *tom_uses[4:]])
        assert found(view, "Nobody", None, "USES") == (None, [])
        assert found(view, None, "Anna", None)[0] == "a"
        assert found(view, None, None, "TALKS_TO", limit=2) == ("a", [("Tomas Novak", "TALKS_TO", "Anna", day) for day in (5, 6)])
        assert len(found(view, limit=99)[1]) == 15
        assert found(view, "Tom", None, None, from_us=5 * DAY)[1] == [
            (*("Tomas Novak", kind, name), day) for day in (5, 6) for kind, name in (("TALKS_TO", "Anna"), ("USES", "cup"))
        ]
        assert found(view, "?", "...", "USES") == (None, [])
        assert found(view, "Tom", "cup", "USES", min_rows=50)[0] == "target"
    with week.view(2 * DAY) as view:
        assert found(view, "Tom", "cup", "USES", from_us=6 * DAY, to_us=7 * DAY) == ("c", tom_uses[:2])


@given(
    edges=st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("XY"), st.sampled_from("abc"), TIMES, st.integers(0, 8), TIMES),
        min_size=1,
        max_size=12,
    ),
    wanted=st.tuples(*(st.sampled_from([None, *options]) for options in ("abc", "abc", "XY"))),
    span=st.tuples(TIMES, TIMES),
    limit=st.integers(1, 6),
    cut=TIMES,
)
@settings(max_examples=40)
def test_the_first_rung_is_what_reading_everything_finds(making, edges, wanted, span, limit, cut):
    source, target, kind = wanted
    low, high = min(span), max(span)
    with making.store() as store:
        with store.transaction() as tx:
            for a, type_, b, t0_us, long_us, known_us in edges:
                relation(tx, entity(tx, a), type_, entity(tx, b), t0_us, t0_us + long_us, known_us)
        with store.view(cut) as view:
            fits = [
                r
                for r in view.relations(from_us=low, to_us=min(high, cut))
                if source in (None, r.source.name) and target in (None, r.target.name) and kind in (None, r.type)
            ]
            got = view.ladder(source, target, kind, from_us=low, to_us=high, limit=limit)
            if fits:
                assert (got.step, list(got.relations)) == ("a", fits[-limit:])
            assert all(r.known_us <= cut and r.t0_us <= cut for r in got.relations)
            table = view.select("SELECT id FROM entity_graph_table ORDER BY id").rows
            assert [row[0] for row in table] == sorted(r.id for r in view.relations())


def test_the_table_says_what_egagents_says(week):
    with week.view() as view:
        got = view.select("SELECT * FROM entity_graph_table WHERE rel_type = 'TALKS_TO' AND day = '1970-01-03'")
        names = "id day start_t end_t transcript source_id source_type target_id target_type rel_type"
        assert got.columns == tuple(names.split())
        row = ("1970-01-03", 9000000, 9013000, "morning 2 | hello", "Tomas Novak", "Person", "Anna", "Person", "TALKS_TO")
        assert (got.rows[0][1:], len(got.rows), got.more) == (row, 1, False)
        assert view.select("SELECT count(*), max(target_id) FROM entity_graph_table").rows == ((15, "cup"),)
        cut = view.select("WITH t AS (SELECT id FROM entity_graph_table) SELECT * FROM t", limit=3)
        assert (len(cut.rows), cut.more) == (3, True)
    with week.view(2 * DAY) as view:
        assert view.select("SELECT count(*) FROM entity_graph_table").rows == ((4,),)


def test_the_table_shows_merged_entities_by_one_name_and_no_time_past_midnight(store):
    with store.transaction() as tx:
        jake, full = entity(tx, "Jake"), entity(tx, "Jake Smith")
        relation(tx, jake, "TALKS_TO", full, -(US // 100), 12_345_678, known_us=0)
    with store.view() as view:
        sql = "SELECT day, start_t, end_t, source_id FROM entity_graph_table"
        assert view.select(sql).rows == (("1969-12-31", 23595999, 23595999, "Jake"),)
        with store.transaction() as tx:
            tx.merge_entity(jake, full, 1)
        assert view.select(sql).rows[0][3] == "Jake Smith"


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM entity_graph_table",
        "DELETE FROM relation",
        "UPDATE entity SET name = 'x'",
        "INSERT INTO state VALUES ('a', 'b')",
        "DROP TABLE relation",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "ATTACH DATABASE '/tmp/x' AS y",
        "PRAGMA writable_schema = 1",
        "PRAGMA user_version",
        "SELECT * FROM relation",
        "SELECT count(*) FROM relation",
        "SELECT 1 FROM relation",
        "SELECT name FROM entity",
        "SELECT * FROM sqlite_temp_schema",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM pragma_table_info('relation')",
        "SELECT (SELECT text FROM document) FROM entity_graph_table",
        "SELECT * FROM temp.graph_merged",
        "WITH entity_graph_table AS (SELECT text FROM document) SELECT * FROM entity_graph_table",
        "WITH entity_graph_table (id) AS (SELECT known_us FROM relation) SELECT * FROM entity_graph_table",
        "SELECT * FROM (SELECT text FROM document) AS entity_graph_table",
        "SELECT * FROM document_fts",
        "SELECT load_extension('x')",
        "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT 1; SELECT 2",
        "BEGIN",
        "VACUUM",
        "",
        "SELECT",
        "SELECT nothing FROM entity_graph_table",
        "SELECT '" + "x" * 5000 + "'",
    ],
)
def test_written_sql_reads_the_table_and_nothing_else(week, sql):
    with week.transaction() as tx:
        tx.add_document(week_document())
    with week.view() as view:
        with pytest.raises(UsageError) as caught:
            view.select(sql)
        assert "\n" not in str(caught.value)
        assert view.select("SELECT count(*) FROM entity_graph_table").rows == ((15,),)
        assert len(view.relations()) == 15


def week_document():
    return NewDocument(kind="event", text="secret", stream="cam", t0_us=0, t1_us=0, offset_us=0, known_us=0, origin="system")


def test_written_sql_that_never_ends_is_ended(week):
    endless = "SELECT count(*) FROM " + ", ".join(f"entity_graph_table t{i}" for i in range(8))
    with week.view() as view:
        with pytest.raises(UsageError, match="200000 steps"):
            view.select(endless, max_steps=200_000)
        assert len(view.documents()) == 0


def test_written_sql_cannot_fill_the_memory_of_the_machine(week):
    joining = "SELECT source_id AS x FROM entity_graph_table"
    for _ in range(10):
        joining = f"SELECT {' || '.join('x' * 8)} AS x FROM ({joining} LIMIT 1)"
    gathering = "SELECT group_concat(transcript) AS x FROM entity_graph_table"
    for _ in range(5):
        gathering = f"SELECT group_concat(t.x) AS x FROM ({gathering}) t, entity_graph_table a, entity_graph_table b"
    with week.view() as view:
        for sql in (joining, gathering):
            with pytest.raises(UsageError, match=r"too big|too long|operators \|\||not authorized"):
                view.select(sql)
        assert len(view.relations()) == 15


def test_written_sql_runs_over_an_encrypted_memory_as_over_a_plain_one(directory):
    pytest.importorskip("sqlcipher3")
    with keys.using(keys.Key("00" * 32, "a test")), Store.open(directory) as store:
        with store.transaction() as tx:
            a, b = entity(tx, "Jake"), entity(tx, "Jake Smith")
            relation(tx, a, "TALKS_TO", b)
            tx.merge_entity(a, b, 0)
        with store.view() as view:
            assert view.select("SELECT source_id, target_id FROM entity_graph_table").rows == (("Jake Smith", "Jake Smith"),)
            for wrong in ("SELECT * FROM relation", "DELETE FROM relation", "SELECT 1; SELECT 2"):
                with pytest.raises(UsageError):
                    view.select(wrong)
            assert len(view.relations()) == 1


def test_what_is_deleted_while_it_is_read_is_left_out(tmp_path, monkeypatch):
    """Rows and the names that belong to them are two statements, and a commit may lie between them."""
    with Store.open(tmp_path / "memory") as store:
        with store.transaction() as tx:
            guest, host = (tx.add_entity(NewEntity(kind="person", name=name, known_us=0)) for name in ("guest", "host"))
            span = {"stream": "hall", "t0_us": 0, "t1_us": 0, "known_us": 0}
            relations = [tx.add_relation(NewRelation(type=kind, source_id=guest, target_id=host, **span)) for kind in ("VISITS", "CALLS")]
        read = GraphReading._entities

        def late(self, ids):
            with store.transaction() as tx:
                for relation in relations:
                    tx.drop_relation(relation)
                tx.drop_entity(guest)
            return read(self, ids)

        with store.view() as view:
            assert len(view.relations()) == 2
            monkeypatch.setattr(GraphReading, "_entities", late)
            assert view.relations() == []
            assert view._stream_name(999) == ""
