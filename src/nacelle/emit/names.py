"""Identifiers and comments of emitted source, from any text.

The names of robots, variables and units come from descriptions and may be any Unicode text. They reach
emitted source only through `identifier`, `entry_name`, `Identifiers` and `comment_text`. These give plain
ASCII: identifiers that are no reserved word, and comments that cannot end, so that a description cannot
inject code.
"""

from __future__ import annotations

import hashlib
import keyword
import unicodedata
from collections.abc import Iterable

LONGEST = 48
"""Length of the longest identifier, to which endings are still added.

C99 guarantees 63 significant characters for names within a file, and for those that are linked 31, of which
linkers in use take no notice.
"""

# C99, C11, C23 and C++: a header may be read by a C++ compiler.
_C_KEYWORDS = """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break
    case catch char char8_t char16_t char32_t class compl concept const const_cast consteval constexpr
    constinit continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum
    explicit export extern false final float for fortran friend goto if import inline int long module mutable
    namespace new noexcept not not_eq nullptr operator or or_eq override private protected public reflexpr
    register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch synchronized template this thread_local throw true try typedef typeid typename typeof
    typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
"""

# Functions and types of the headers that emitted C includes, macros that compilers define, and the names that
# emitted Python uses.
_LIBRARY_NAMES = """
    assert atan2 cos double_t eof errno exp fabs float_t floor huge_val i386 infinity linux m_e m_pi
    max_align_t nan null offsetof ptrdiff_t sin size_t sqrt tanh unix
    math np numpy abs float int range len print self
"""


def _with_floats(text: str) -> set[str]:
    """The words of a text, and each with the endings f and l that C has for float and long double."""
    return {word + ending for word in text.split() for ending in ("", "f", "l")}


RESERVED = frozenset(
    set(_C_KEYWORDS.split())
    | _with_floats(_LIBRARY_NAMES)
    | {word.lower() for word in (*keyword.kwlist, *keyword.softkwlist)}
)
"""Names that no variable or function may have, in lower case."""

# Replacements of characters whose Unicode decomposition (NFKD) has no ASCII or the wrong one.
_REPLACEMENTS = {
    "°": "deg",
    "·": ".",
    "⋅": ".",
    "×": "x",
    "−": "-",
    "–": "-",
    "—": "-",
    "′": "'",
    "″": "''",
    "\u2126": "Ohm",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Æ": "AE",
}


def _to_ascii(text: str) -> str:
    """Give text in ASCII: accents are dropped, Greek letters are spelt out, other characters become _."""
    parts: list[str] = []
    for character in text:
        if character.isascii():
            parts.append(character)
            continue
        if character in _REPLACEMENTS:
            parts.append(_REPLACEMENTS[character])
            continue
        for plain in unicodedata.normalize("NFKD", character):
            if unicodedata.combining(plain):
                continue
            parts.append(plain if plain.isascii() else _spell_letter(plain))
    return "".join(parts)


def _spell_letter(character: str) -> str:
    """Spell out a Greek letter, "alpha" or "Alpha"; _ for any other character."""
    parts = unicodedata.name(character, "").split()
    if parts[:1] == ["GREEK"] and parts[2:3] == ["LETTER"] and len(parts) >= 4:
        name = parts[-1] if parts[3] == "FINAL" else parts[3]
        return name.lower() if parts[1] == "SMALL" else name.capitalize()
    return "_"


def identifier(text: str, fallback: str = "x") -> str:
    """Turn any text into an identifier of C and of Python that is no reserved word.

    Args:
        text: any text, also empty.
        fallback: an identifier: the name of a text without letters and digits, the prefix of a leading digit.
    """
    plain = "".join(c if c.isalnum() else "_" for c in _to_ascii(text))
    # No leading underscore and no double one: such names are reserved in C and C++.
    name = "_".join(part for part in plain.split("_") if part)
    if not name:
        name = fallback
    elif name[0].isdigit():
        name = f"{fallback}_{name}"
    if len(name) > LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = f"{name[: LONGEST - 9].rstrip('_')}_{digest}"
    if name.lower() in RESERVED:
        name += "_"
    return name


def entry_name(text: str) -> str:
    """Turn any text into the name of a C function that others link with.

    A name without underscore gets the ending `_eval`: the C library has some two thousand such functions
    (`random`, `step`, `link`), and a linker would confuse the two without a warning.
    """
    name = identifier(text, "program")
    return name if "_" in name else f"{name}_eval"


class Identifiers:
    """Identifiers of one scope, no two alike."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        """Start with reserved names, which no identifier gets."""
        self._taken = set(reserved)

    def inner(self) -> Identifiers:
        """Identifiers of an inner scope: names taken here are taken there, but not the reverse."""
        return Identifiers(self._taken)

    def take(self, *names: str) -> None:
        """Mark names as taken."""
        self._taken.update(names)

    def prefix_for(self, word: str) -> str:
        """Give a prefix for numbered names that collide with no name taken: the word, with _ as needed."""
        prefix = word
        while any(name[len(prefix) :][:1].isdigit() for name in self._taken if name.startswith(prefix)):
            prefix += "_"
        return prefix

    def unique(self, text: str, fallback: str = "x") -> str:
        """Give an identifier that is not taken, and take it."""
        base = identifier(text, fallback)
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base.rstrip('_')}_{number}"
        self._taken.add(name)
        return name


def comment_text(text: str) -> str:
    r"""Turn any text into one line that may be part of a comment of C or a docstring of Python.

    It cannot end a comment (`*/`), open one (`/*`), hold a trigraph (`??/`), continue a line (a backslash
    at its end), end a docstring, or hide other text (controls, marks of writing direction).
    """
    plain = "".join(c if " " <= c <= "~" else " " if c.isspace() else "_" for c in _to_ascii(text))
    plain = plain.replace("\\", "/").replace('"', "'")
    for pair in ("*/", "/*", "??", "//"):
        # Twice, as the pairs of "???" overlap.
        for _ in range(2):
            plain = plain.replace(pair, f"{pair[0]} {pair[1]}")
    return " ".join(plain.split())
