"""`edgemem memory check` finds all damage, and reports nothing for an undamaged memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.administration import compact
from edgemem.remember.check import check_memory
from edgemem.remember.store import NewDocument, NewMoment, Store
from edgemem.remember.view import View

SPACE = Space(name="test", dim=8)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    directory = tmp_path / "memory"
    with Store.open(directory) as store:
        store.ensure_space(SPACE)
        with store.transaction() as tx:
            for i in range(20):
                moment_id = tx.add_moment(
                    NewMoment(
                        stream="s", seq=i, t_us=i * US, offset_us=i * US, width_px=8, height_px=8, sharpness=1.0,
                        jpeg=f"picture {i}".encode() * 50,
                        vectors={"test": np.eye(8, dtype=np.float32)[i % 8]},
                    )
                )  # fmt: skip
                tx.add_document(
                    NewDocument(
                        kind="text", text=f"sign {i}", stream="s", t0_us=i * US, t1_us=i * US, offset_us=i * US, known_us=i * US,
                        origin="ocr",
                        moment_id=moment_id,
                    )
                )  # fmt: skip
    return directory


def test_a_sound_memory_has_nothing_to_say(memory: Path) -> None:
    assert check_memory(memory) == []


def sql(memory: Path, *statements: str) -> None:
    with closing(sqlite3.connect(memory / "memory.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def lose_sidecar(memory: Path) -> None:
    next((memory / "vectors").glob("*.i8")).unlink()


def flip_sidecar(memory: Path) -> None:
    path = next((memory / "vectors").glob("*.i8"))
    data = bytearray(path.read_bytes())
    data[3] ^= 0x40
    path.write_bytes(data)


def overwrite_pages(memory: Path) -> None:
    path = memory / "memory.db"
    data = bytearray(path.read_bytes())
    data[8192 : 8192 + 64] = b"\xff" * 64
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda m: sql(m, "UPDATE blob SET data = x'00' WHERE id = 3"), "picture 3 is damaged"),
        (lambda m: sql(m, "UPDATE blob SET refs = 9 WHERE id = 3"), "1 pictures whose number of users is wrong"),
        (lambda m: sql(m, "INSERT INTO vec (id, data) VALUES (25600001, x'00')"), "1 vectors of moments that are gone"),
        (lose_sidecar, 'vectors of "test"'),
        (flip_sidecar, 'vectors of "test"'),
    ],
    ids=["picture", "references", "orphan vector", "no sidecar", "one wrong bit"],
)
def test_damage_is_named(memory: Path, damage: Callable[[Path], None], says: str) -> None:
    damage(memory)
    assert any(says in line for line in check_memory(memory)), check_memory(memory)


def test_a_damaged_sidecar_is_whole_again_after_the_next_writer(memory: Path) -> None:
    flip_sidecar(memory)
    Store.open(memory).close()
    assert check_memory(memory) == []


DAMAGE = {
    "document_fts": ("UPDATE document_fts_data SET block = x'00' WHERE id > 10", "DELETE FROM document_fts_docsize WHERE id = 1"),
    "document_squeezed_fts": ("UPDATE document_squeezed_fts_data SET block = x'00' WHERE id > 10",),
}


@pytest.mark.parametrize(("table", "query"), [(table, query) for table, queries in DAMAGE.items() for query in queries])
def test_a_damaged_full_text_index_is_found_and_compacting_makes_it_anew(memory: Path, table: str, query: str) -> None:
    """The words stand in the documents as well, so nothing is lost."""
    sql(memory, query)
    assert check_memory(memory) == [f"the full-text index {table} is damaged: `edgemem memory compact` makes it anew"]
    compact(memory)
    assert check_memory(memory) == []
    with View.open(memory) as view:
        assert [view.search_text("sign 7", k=1)[0].document.text, view.search_text("IGN7", k=1)[0].document.text] == ["sign 7"] * 2
