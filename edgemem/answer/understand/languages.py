"""Which language a question is in. Only English is understood; the others are recognised by their most frequent words and letters."""

from __future__ import annotations

import re

from edgemem.answer.understand.words import spelt

_WORDS = {
    "de": "der die das den dem ein eine einen ist war habe hab hat wo wann wer was wie oft viele ich mein meine meinen mir mich nicht"
    " und im"
    " am beim auf mit zum noch gestern heute wem welche welcher welches wurde sind letzten zuerst zusammen fass dir du hast gesehen kam",
    "es": "el la los las un una es está esta estaba dónde donde cuándo cuando quién quien qué que cómo cuántos cuántas cuánto mi mis yo"
    " no en"
    " de del con por ayer hoy he dejé vi dijo sobre hazme resumen antes después cuál había hay me son fue",
    "fr": "le la les un une des est était où quand qui que quoi comment combien mon ma mes je j'ai ne pas dans sur avec hier aujourd'hui ai"
    " as t'as vu est-ce qu'est-ce ce cette du au quel quelle avant ou suis été il elle fait",
}
_SETS = {name: frozenset(text.split()) for name, text in _WORDS.items()}
_ENGLISH = frozenset(spelt("the a an is are was were did do does have has had i my me we you it where when what who which how why of to"
    " and in on at for with that"
    " this there any not see saw seen last first before after many all tell show find please"))  # fmt: skip
NAMES = {"de": "German", "es": "Spanish", "fr": "French", "zh": "Chinese", "?": "a language that I do not know"}


def language_of(text: str) -> str:
    """Such as "en", "de", "es", "fr", "zh"; "?" for other scripts. English where nothing speaks against it."""
    letters = [c for c in text if c.isalpha()]
    if sum("\u4e00" <= c <= "\u9fff" for c in letters) * 2 > len(letters):
        return "zh"
    if letters and sum(not c.isascii() and ord(c) > 0x24F for c in letters) * 2 > len(letters):
        return "?"
    tokens = re.findall(r"[\w'-]+", text.lower())
    english = sum(token in _ENGLISH for token in tokens)
    marks = {
        "es": len(re.findall("[¿¡ñ]", text)),
        "de": len(re.findall("[ßäöü]", text.lower())),
        "fr": len(re.findall("[çèêœ]", text.lower())),
    }
    score = {name: sum(token in own for token in tokens) + 2 * (marks[name] > 0) for name, own in _SETS.items()}
    best = max(score, key=lambda name: score[name])
    return best if score[best] > english and score[best] >= 2 else "en"
