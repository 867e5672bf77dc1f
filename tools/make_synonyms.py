"""Write the words of English that mean the same, from WordNet 3.0, as data of `edgemem/infer`.

    apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb wordnet
    python tools/make_synonyms.py --wordnet wordnet/usr/share/wordnet --out edgemem/infer/synonyms.txt.gz

A line holds the words of one synset. A word stands in the lines of its first two senses, and only of those that occur in the texts whose
words WordNet's authors marked with their senses: rare words and rare senses would make unlike words alike.
"""

import argparse
import gzip
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SENSES = 2
HEAD = "# Derived from WordNet 3.0, Copyright 2006 by Princeton University; its licence is in labels.LICENSE beside this file.\n"


def synsets(index: Path) -> Iterator[list[str]]:
    """Those with two words or more, of an index file: lemma, pos, synset_cnt, p_cnt, pointers, sense_cnt, tagsense_cnt, offsets."""
    words = defaultdict(list)
    for line in index.read_text().splitlines():
        if line.startswith(" "):
            continue
        fields = line.split()
        first = 6 + int(fields[3])
        for offset in fields[first : first + min(SENSES, int(fields[first - 1]))]:
            words[offset].append(fields[0])
    plain = ([word for word in one if word.isalpha()] for one in words.values())
    return (one for one in plain if len(one) > 1)


def main() -> None:
    """Read the four index files, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--wordnet", "--out"):
        parser.add_argument(option, type=Path, required=True)
    args = parser.parse_args()
    lines = {" ".join(one) for kind in ("noun", "verb", "adj", "adv") for one in synsets(args.wordnet / f"index.{kind}")}
    args.out.write_bytes(gzip.compress((HEAD + "\n".join(sorted(lines)) + "\n").encode(), 9, mtime=0))
    print(f"{len(lines)} lines")


if __name__ == "__main__":
    main()
