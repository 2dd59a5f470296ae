"""Names and remarks for emitted source.

The names of robots, variables and units come from descriptions and may be any Unicode text. Nothing of
them reaches emitted source but through `identifier`, `Names` and `remark`, which give plain ASCII that no
language used here reads as anything else.
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

# Names of the standard headers that the sources include, macros that compilers define, and names that
# the targets use for themselves.
_C_LIBRARY = """
    abs acos acosh asin asinh assert atan atan2 atanh cbrt ceil copysign cos cosh erf erfc errno exp exp2 expm1
    fabs fdim floor fma fmax fmin fmod fpclassify frexp gamma hypot ilogb isfinite isgreater isgreaterequal isinf
    isless islessequal islessgreater isnan isnormal isunordered j0 j1 jn ldexp lgamma llrint llround log log10
    log1p log2 logb lrint lround main modf nan nearbyint nextafter nexttoward offsetof pow remainder remquo rint
    round scalb scalbln scalbn signbit signgam significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
    div memcpy memset max_align_t ptrdiff_t size_t double_t float_t null nan infinity huge_val eof
    linux unix i386 arm near far interrupt huge vector pixel bool m_pi m_e
"""
_C_FLOATS = ("f", "l")
_PYTHON = "math np numpy print self inf nan float int range len"

RESERVED = frozenset(
    set(_C_KEYWORDS.split())
    | set(_C_LIBRARY.split())
    | {name + ending for name in _C_LIBRARY.split() for ending in _C_FLOATS}
    | {word.lower() for word in (*keyword.kwlist, *keyword.softkwlist)}
    | set(_PYTHON.split())
)
"""Names that no variable or function may have, in lower case."""

# What a decomposition to ASCII would lose, in words.
_WORDS = {
    "°": "deg",
    "·": ".",
    "⋅": ".",
    "×": "x",
    "−": "-",
    "–": "-",
    "—": "-",
    "‐": "-",
    "′": "'",
    "″": "''",
    "Ω": "Ohm",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Æ": "AE",
}


def _ascii(text: str) -> str:
    """Give text in ASCII: accents are dropped, Greek letters are spelled, others become _."""
    parts: list[str] = []
    for character in text:
        if character.isascii():
            parts.append(character)
            continue
        if character in _WORDS:
            parts.append(_WORDS[character])
            continue
        for plain in unicodedata.normalize("NFKD", character):
            if unicodedata.combining(plain):
                continue
            parts.append(plain if plain.isascii() else _spelled(plain))
    return "".join(parts)


def _spelled(character: str) -> str:
    """Spell a Greek letter; _ for anything else."""
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and words[2:3] == ["LETTER"] and len(words) >= 4:
        name = words[-1] if words[3] == "FINAL" else words[3]
        return name.lower() if words[1] == "SMALL" else name.capitalize()
    return "_"


def identifier(text: str, fallback: str = "x") -> str:
    """Turn any text into an identifier of C and of Python that is no reserved word.

    Args:
        text: any text, also empty.
        fallback: an identifier, used where nothing of the text is left and before a leading digit.
    """
    plain = "".join(c if c.isalnum() else "_" for c in _ascii(text))
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


class Names:
    """Identifiers of one scope, no two alike."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Start with names that are taken."""
        self._taken = set(taken)

    def take(self, *names: str) -> None:
        """Mark names as taken."""
        self._taken.update(names)

    def unique(self, text: str, fallback: str = "x", endings: Iterable[str] = ("",)) -> str:
        """Give an identifier that is not taken, and take it.

        Args:
            text: any text.
            fallback: as in `identifier`.
            endings: the identifier followed by each of these must be free; all are taken.
        """
        base = identifier(text, fallback)
        name, number = base, 1
        while any(name + ending in self._taken for ending in endings):
            number += 1
            name = f"{base.rstrip('_')}_{number}"
        self._taken.update(name + ending for ending in endings)
        return name


def remark(text: str) -> str:
    r"""Turn any text into one line that may stand in a comment of C or a docstring of Python.

    It cannot end a comment (`*/`), open one (`/*`), hold a trigraph (`??/`), continue a line (a backslash
    at its end), end a docstring, or hide other text (controls, marks of writing direction).
    """
    plain = "".join(c if " " <= c <= "~" else " " if c.isspace() else "_" for c in _ascii(text))
    plain = plain.replace("\\", "/").replace('"', "'")
    for pair in ("*/", "/*", "??", "//"):
        # Twice, as the pairs of "???" overlap.
        for _ in range(2):
            plain = plain.replace(pair, f"{pair[0]} {pair[1]}")
    return " ".join(plain.split())
