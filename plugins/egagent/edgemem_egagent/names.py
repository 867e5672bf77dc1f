"""Coreference: several names of one person come together under the most complete one, reversibly."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from edgemem_egagent.graph import ME, SameAs
from edgemem_egagent.pictures import SOMEONE


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
