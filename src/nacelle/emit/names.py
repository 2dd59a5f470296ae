"""Names and remarks for emitted source.

The names of robots, variables and units come from descriptions and may be any Unicode text. Nothing of
them reaches emitted source but through `identifier`, `Identifiers` and `remark`, which give plain ASCII that
no language used here reads as anything else.
"""

from __future__ import annotations

import hashlib
import keyword
import unicodedata
from collections.abc import Iterable

LONGEST = 48
"""Length of the longest identifier: C99 tells names apart by 63 characters, and endings are added."""

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

# What the sources call or include, and macros that compilers define.
_LIBRARY_NAMES = """
    assert atan2 cos double_t eof errno exp fabs float_t floor huge_val i386 infinity linux m_e m_pi
    max_align_t nan null offsetof ptrdiff_t sin size_t sqrt tanh unix
    math np numpy abs float int range len print self
"""


def _with_floats(text: str) -> set[str]:
    """Split words, and add the names for float and long double."""
    return {word + ending for word in text.split() for ending in ("", "f", "l")}


RESERVED = frozenset(
    set(_C_KEYWORDS.split())
    | _with_floats(_LIBRARY_NAMES)
    | {word.lower() for word in (*keyword.kwlist, *keyword.softkwlist)}
)
"""Names that no variable or function may have, in lower case."""

# Replacements of the characters that a decomposition to ASCII would lose.
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
    """Give text in ASCII: accents are dropped, Greek letters are spelled, others become _."""
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
    """Spell a Greek letter; _ for anything else."""
    parts = unicodedata.name(character, "").split()
    if parts[:1] == ["GREEK"] and parts[2:3] == ["LETTER"] and len(parts) >= 4:
        name = parts[-1] if parts[3] == "FINAL" else parts[3]
        return name.lower() if parts[1] == "SMALL" else name.capitalize()
    return "_"


def identifier(text: str, fallback: str = "x") -> str:
    """Turn any text into an identifier of C and of Python that is no reserved word.

    Args:
        text: any text, also empty.
        fallback: an identifier, used where nothing of the text is left and before a leading digit.
    """
    plain = "".join(c if c.isalnum() else "_" for c in _to_ascii(text))
    # No leading underscore and no pair of them: C and C++ keep such names for themselves.
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

    A plain word gets an ending: the C library has some two thousand of them (`random`, `step`, `link`), and
    a linker would take one for the other without a word.
    """
    name = identifier(text, "program")
    return name if "_" in name else f"{name}_eval"


class Identifiers:
    """Identifiers of one scope, no two alike."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        """Start with names that are taken."""
        self._taken = set(reserved)

    def inner(self) -> Identifiers:
        """Identifiers of a scope within this one."""
        return Identifiers(self._taken)

    def take(self, *names: str) -> None:
        """Mark names as taken."""
        self._taken.update(names)

    def prefix_for(self, word: str) -> str:
        """Give a prefix with which, followed by a digit, no name taken begins: the word, maybe with _."""
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
