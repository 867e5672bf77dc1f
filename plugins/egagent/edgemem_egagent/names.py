"""Coreference: several names of one person come together under the most complete one, reversibly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from edgemem_egagent.graph import ME, SOMEONE, SameAs


def most_complete(names: Iterable[str], known: Collection[str]) -> tuple[SameAs, ...]:
    """For each name that is a part of exactly one longer one ("Tomas" of "Tomas Novak"): that both are one person.

    Two people with the same first name are left apart. Unnamed voices ("speaker 3"), "me" and "someone" are never a part of a name.
    """
    people = dict.fromkeys((*names, *known))
    found = []
    for name in dict.fromkeys(names):
        parts = set(name.casefold().split())
        if not parts or name in {ME, SOMEONE} or any(part.isdigit() for part in parts):
            continue
        longer = [other for other in people if parts < set(other.casefold().split()) and not any(p.isdigit() for p in other.split())]
        if len(longer) == 1:
            found.append(SameAs(other=name, name=longer[0]))
    return tuple(found)


def ambiguous(names: Iterable[str], known: Mapping[str, str]) -> tuple[SameAs, ...]:
    """Of the names that are kept as part of a longer one: those that a name which turns up now makes ambiguous.

    `known`: every name -> the name under which that person is shown. "Tomas" was taken for "Tomas Novak"; now there is a "Tomas Weber".
    """
    found = []
    for name in dict.fromkeys(names):
        words = set(name.casefold().split())
        for short, full in known.items():
            other = short != full and name not in {short, full} and known.get(name, name) != full
            if other and set(short.casefold().split()) < words and set(short.casefold().split()) < set(full.casefold().split()):
                found.append(SameAs(other=short, name=full))
    return tuple(dict.fromkeys(found))
