"""Full-text search: converts a question to FTS5 expressions."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgemem.remember.disk import database

FULL_TEXT = ("document_fts", "document_squeezed_fts")
"""The full-text indices over the documents."""
_MOST_WORDS = 24
"""Most words of a question; of a longer one only the first distinct words are used."""
_LEAST_LETTERS = 4
"""Least length of a beginning or of joined words; shorter ones match too much by chance."""
_LONGEST_RUN = 4
_RUN_WEIGHT = 3.0
"""Weight of joined words: they match two words and that they are neighbours. With 2, one stem in a small memory had a larger weight."""
_SNIPPET_WORDS = 24

_STOP_WORDS = (
    "a an and any are as at be been but by can could did do does for from had has have he her him his how i if in into is it its me my"
    " of on or our she so some that the their them there these they this those to was we were what when where which while who whom"
    " whose why will with would you your ever show find tell see saw seen"
)
_STOP = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+", re.UNICODE)


def words(text: str) -> list[str]:
    """The words of a text in order, in lower case."""
    return _WORD.findall(text.casefold())


def squeeze(text: str) -> str:
    """Letters and digits only, in lower case, line by line: "EXIT C" and "EXITC" become equal."""
    return "\n".join(filter(None, ("".join(words(line)) for line in text.splitlines())))


class TextReader(NamedTuple):
    """One form of a query: an FTS5 expression over a table, and the weight of a match."""

    table: str
    expression: str
    weight: float
    adds: bool
    """Whether it also counts for documents that an earlier form found."""


def query_forms(query: str) -> list[TextReader]:
    """The forms of a query: word stems; neighbouring words joined, which rarely match by chance; words without spaces; word beginnings."""
    spoken = words(query)
    content = (list(dict.fromkeys(word for word in spoken if word not in _STOP)) or list(dict.fromkeys(spoken)))[:_MOST_WORDS]
    # "Gate A": a single letter may be a name, though "a" is a stop word.
    neighbours = [word for word in spoken if word not in _STOP or len(word) == 1][:_MOST_WORDS]
    long = [word for word in content if len(word) >= _LEAST_LETTERS]
    return [
        reading
        for reading in (
            TextReader("document_fts", _any(content), 1.0, adds=True),
            TextReader("document_squeezed_fts", _any(_runs(neighbours)), _RUN_WEIGHT, adds=True),
            TextReader("document_squeezed_fts", _any(long), 1.0, adds=False),
            TextReader("document_fts", _any(long, "*"), 0.5, adds=False),
        )
        if reading.expression
    ]


def _any(terms: Sequence[str], suffix: str = "") -> str:
    """Any of these terms, quoted, so that nothing in a question is FTS5 syntax."""
    return " OR ".join(f'"{term}"{suffix}' for term in terms)


def _runs(neighbours: Sequence[str]) -> list[str]:
    """Two to four neighbouring words without spaces, as OCR may read them."""
    runs = ("".join(neighbours[start : start + size]) for size in range(2, _LONGEST_RUN + 1) for start in range(len(neighbours) - size + 1))
    return list(dict.fromkeys(run for run in runs if len(run) >= _LEAST_LETTERS))


def damaged(connection: sqlite3.Connection) -> list[str]:
    """The full-text indices that cannot be read to their end or lack documents. Their words stand in the documents as well: `rebuild` makes
    them anew.
    """
    found = []
    for table, filled in zip(FULL_TEXT, ("true", "squeezed <> ''"), strict=True):
        try:
            connection.execute(f"CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, {table}, 'row')")
            connection.execute("SELECT sum(cnt) FROM temp.vocabulary").fetchone()
            missing = f"SELECT 1 FROM document WHERE {filled} AND id NOT IN (SELECT id FROM {table}_docsize)"  # noqa: S608
            if connection.execute(missing).fetchone():
                found.append(table)
        except database.errors("DatabaseError"):
            found.append(table)
        connection.execute("DROP TABLE IF EXISTS temp.vocabulary")
    return found


def rebuild(connection: sqlite3.Connection, table: str) -> None:
    """Make a full-text index anew from the documents, in the open transaction."""
    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")  # noqa: S608 - our own name


def bound_merges(connection: sqlite3.Connection) -> None:
    """Switch off FTS5's automatic merge, which may rewrite the whole index within one transaction; `merge` does it in bounded pieces."""
    for table in FULL_TEXT:
        kept = dict(connection.execute(f"SELECT k, v FROM {table}_config"))  # noqa: S608
        for key, value in (("automerge", 0), ("crisismerge", 1000)):
            if kept.get(key) != value:
                connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (key, value))  # noqa: S608


def merge(connection: sqlite3.Connection, pages: int) -> None:
    """Merge full-text segments until about `pages` pages are written, instead of FTS5's automatic merge, which has no limit."""
    for table in FULL_TEXT:
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))  # noqa: S608


def merge_more(connection: sqlite3.Connection, table: str, pages: int) -> bool:
    """Merge about so many pages of all segments of an index into one; False if that is done."""
    before = connection.total_changes
    connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-pages,))  # noqa: S608
    return connection.total_changes - before > 1


def ranked(connection: sqlite3.Connection, query: str, k: int, where: str, values: Mapping[str, object]) -> list[tuple[int, float]]:
    """Document ids and ranks, best first.

    The rank is the weighted sum of BM25 over the forms of the query. `where` restricts the table `d` (document). Inverse document
    frequencies are those of the whole memory: a later document can shift a rank but is never returned. A word that more than half of the
    documents have gets almost no weight.
    """
    ranks: dict[int, float] = {}
    for table, expression, weight, adds in query_forms(query):
        if not adds and len(ranks) >= k:
            break
        found = connection.execute(
            f"SELECT d.id, -bm25({table}) FROM {table} JOIN document d ON d.id = {table}.rowid"  # noqa: S608
            f" WHERE {table} MATCH :expression AND {where} ORDER BY bm25({table}), d.id LIMIT :k",
            {**values, "expression": expression, "k": k},
        ).fetchall()
        known = frozenset(ranks) if not adds else frozenset()
        for document_id, rank in found:
            if document_id not in known:
                ranks[document_id] = ranks.get(document_id, 0.0) + rank * weight
    return sorted(ranks.items(), key=lambda item: (-item[1], item[0]))[:k]


def snippet(text: str, query: str) -> str:
    """The part of `text` around the first word of the query; its beginning if only a stem matched."""
    parts = text.split()
    if len(parts) <= _SNIPPET_WORDS:
        return " ".join(parts)
    stems = tuple(word[: max(3, len(word) - 3)] for word in words(query) if word not in _STOP)
    hit = next((i for i, part in enumerate(parts) if stems and part.casefold().lstrip("\"'([").startswith(stems)), 0)
    start = max(0, min(hit - _SNIPPET_WORDS // 3, len(parts) - _SNIPPET_WORDS))
    cut = " ".join(parts[start : start + _SNIPPET_WORDS])
    return f"{'… ' if start else ''}{cut}{' …' if start + _SNIPPET_WORDS < len(parts) else ''}"
