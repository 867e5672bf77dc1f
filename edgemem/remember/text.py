"""Full-text search: a free question becomes FTS5 expressions, never the other way round."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence

_MOST_WORDS = 24
"""Of a very long question the first distinct words count."""
_LEAST_SQUEEZED = 4
_LEAST_PREFIX = 4
_LONGEST_RUN = 4
_SNIPPET_WORDS = 24

_STOP_WORDS = (
    "a an and any are as at be been but by can could did do does for from had has have he her him his how i if in into is it its me my"
    " of on or our she so some that the their them there these they this those to was we were what when where which while who whom"
    " whose why will with would you your ever show find tell see saw seen"
)
_STOP = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+", re.UNICODE)


def words(text: str) -> list[str]:
    """Lower-case words in order."""
    return _WORD.findall(text.casefold())


def squeeze(text: str) -> str:
    """Letters and digits only, lower case, line by line: "EXIT C" and "EXITC" become the same."""
    return "\n".join(filter(None, ("".join(words(line)) for line in text.splitlines())))


def expressions(query: str) -> tuple[str, str, str]:
    """FTS5 expressions for word stems, word beginnings and squeezed text; "" where the query gives none."""
    spoken = words(query)
    content = list(dict.fromkeys(word for word in spoken if word not in _STOP)) or list(dict.fromkeys(spoken))
    content = content[:_MOST_WORDS]
    stems = " OR ".join(f'"{word}"' for word in content)
    prefixes = " OR ".join(f'"{word}"*' for word in content if len(word) >= _LEAST_PREFIX)
    squeezed = " OR ".join(f'"{run}"' for run in _runs([word for word in spoken if word not in _STOP or len(word) == 1]))
    return stems, prefixes, squeezed


def _runs(spoken: Sequence[str]) -> list[str]:
    """Neighbouring words run together, as OCR reads them."""
    runs: dict[str, None] = {}
    for size in range(1, _LONGEST_RUN + 1):
        for start in range(min(len(spoken), _MOST_WORDS) - size + 1):
            run = "".join(spoken[start : start + size])
            if len(run) >= _LEAST_SQUEEZED:
                runs[run] = None
    return list(runs)


def ranked(connection: sqlite3.Connection, query: str, k: int, where: str, values: Mapping[str, object]) -> list[tuple[int, float]]:
    """Document ids and ranks, best first.

    The rank is the sum of BM25 over three readings of the query: stems and squeezed text count whole, word beginnings (only of
    documents that no stem found) half. `where` restricts the table `d` (document); inverse document frequencies are those of the whole
    memory, so a later document can shift a rank but is never returned.
    """
    stems, prefixes, squeezed = expressions(query)
    ranks: dict[int, float] = {}
    for table, expression, weight in (
        ("document_fts", stems, 1.0),
        ("document_squeezed_fts", squeezed, 1.0),
        ("document_fts", prefixes, 0.5),
    ):
        if not expression or (weight < 1 and len(ranks) >= k):
            continue
        found = connection.execute(
            f"SELECT d.id, -bm25({table}) FROM {table} JOIN document d ON d.id = {table}.rowid"  # noqa: S608
            f" WHERE {table} MATCH :expression AND {where} ORDER BY bm25({table}), d.id LIMIT :k",
            {**values, "expression": expression, "k": k},
        ).fetchall()
        fresh = {document_id: rank * weight for document_id, rank in found if weight == 1 or document_id not in ranks}
        for document_id, rank in fresh.items():
            ranks[document_id] = ranks.get(document_id, 0.0) + rank
    return sorted(ranks.items(), key=lambda item: (-item[1], item[0]))[:k]


def snippet(text: str, query: str) -> str:
    """The part of `text` around the first word of the query; the beginning when only a stem matched."""
    parts = text.split()
    if len(parts) <= _SNIPPET_WORDS:
        return " ".join(parts)
    stems = tuple(word[: max(3, len(word) - 3)] for word in words(query) if word not in _STOP)
    hit = next((i for i, part in enumerate(parts) if stems and part.casefold().lstrip("\"'([").startswith(stems)), 0)
    start = max(0, min(hit - _SNIPPET_WORDS // 3, len(parts) - _SNIPPET_WORDS))
    cut = " ".join(parts[start : start + _SNIPPET_WORDS])
    return f"{'… ' if start else ''}{cut}{' …' if start + _SNIPPET_WORDS < len(parts) else ''}"
