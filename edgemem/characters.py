"""Characters that are more than what they show: they drive a terminal, turn the direction of writing, are never seen, or no UTF-8 has them.

Names of streams, speakers and files, text that was read or heard, documents and replies of models may hold any of them.
"""

from __future__ import annotations

import unicodedata

_SHOWN_FORMATS = frozenset({*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD})
"""Of the category "format" (Cf) these draw something: signs of Arabic, Syriac and Kaithi that enclose numbers."""
_JOINERS = frozenset({0x200C, 0x200D})
"""Words of Persian and Indic scripts and many emoji are not themselves without these; a terminal draws nothing for them."""
_IGNORED = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2065, 0x3164, *range(0xFE00, 0xFE10), 0xFFA0, *range(0xFFF0, 0xFFF9),
     *range(0xE0000, 0xE1000)}
)  # fmt: skip
"""Beside controls and formats, what a renderer leaves out (Unicode 15, DerivedCoreProperties.txt: Default_Ignorable_Code_Point)."""
_LAYOUT = frozenset("\n\t\r")
_SURROGATES = range(0xD800, 0xE000)


def is_invisible(character: str) -> bool:
    """Nothing is drawn for it: control, direction mark, zero width, tag, variation selector, filler. Line breaks and tabs are layout."""
    if character.isprintable() and ord(character) not in _IGNORED:
        return False
    category = unicodedata.category(character)
    if category == "Cf":
        return ord(character) not in _SHOWN_FORMATS
    return (category == "Cc" and character not in _LAYOUT) or ord(character) in _IGNORED


def visible(text: str) -> str:
    r"""The text on one line, as a terminal may print it: every control and direction character as its escape, such as `\x1b` or `\u202e`.

    Line breaks and tabs, too, so that a name cannot make lines or columns of its own. Bytes that are no UTF-8 in a name of a file, which
    Python holds as lone surrogates, become `\udcff` and the like.
    """
    if text.isprintable():
        return text
    return "".join(one if _is_harmless(one) else one.encode("unicode_escape").decode("ascii") for one in text)


def visible_json(encoded: str) -> str:
    r"""JSON text in which JSON's own escapes stand for such characters: encoders leave DEL, C1 and direction marks as they are.

    The same value is read from it. `encoded` must have no line breaks between its parts.
    """
    if encoded.isprintable():
        return encoded
    return "".join(one if _is_harmless(one) else _json_escape(one) for one in encoded)


def storable(text: str) -> str:
    r"""The text as UTF-8 can hold it. What Python makes of other bytes in names, lone surrogates, becomes `\udcff` and the like."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def is_storable(text: str) -> bool:
    """Whether UTF-8 can hold it as it is."""
    return text.isascii() or not any(ord(one) in _SURROGATES for one in text)


def _is_harmless(character: str) -> bool:
    if character.isprintable():
        return True
    category = unicodedata.category(character)
    if category == "Cf":
        return ord(character) in _SHOWN_FORMATS or ord(character) in _JOINERS
    return category in {"Zs", "Co", "Cn"}  # odd blanks, private and unassigned characters: they draw at most a box


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
