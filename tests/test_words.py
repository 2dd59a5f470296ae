"""One language: identifiers and pages use the words of the field; functions are verbs or nouns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "nacelle").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "exchange").glob("*.md")),
]

# What is left of an older dialect; these numbers only fall.
MOST_PARTICIPLES, MOST_DIALECT, MOST_FILES = 116, 205, 2

# Words that stand for something else in the field, each with the word to use.
BANNED_PARTS = {
    **dict.fromkeys(("tie", "ties"), "closure constraint"),
    **dict.fromkeys(("felt", "unfelt"), "effective, excited"),
    "strengthened": "re-evaluated with pivoting",
    "snapped": "regularised",
    "askew": "misaligned",
    "stumps": "sub-chains",
    "lifted": "projected",
    **dict.fromkeys(("rehearse", "rehearsal", "rehearsals"), "simulated experiment"),
    **dict.fromkeys(("looking", "look"), "visual feedback"),
    "witness": "reference engine",
    "lane": "batch",
    "told": "given as an argument",
    **dict.fromkeys(("said", "words"), "message, description, label"),
    "recipe": "closed-form solution",
}
# Names of variables and parameters that say nothing, or are taken for something else.
BANNED_NAMES = {
    **dict.fromkeys(("place", "places"), "index, slice, offset, position"),
    **dict.fromkeys(("own", "given", "made", "found", "listed"), "what it is"),
    **dict.fromkeys(("turn", "turned"), "rotation, angle"),
}
PARTICIPLE = re.compile(
    r"[a-z]{2,}(ed|ing)|made|found|held|kept|seen|drawn|shown|told|given|written|known|built|sent|met|said|led|felt"
    r"|lost|meant|paid|spun|hung|laid|taken|chosen|broken|frozen|worn|torn|driven|hidden|thrown|grown|gone|done"
)
# Nouns, adjectives and verbs that only look like participles.
NOUN = re.compile(
    r"speed|feed|seed|bed|need|red|embed|(st|sp)?ring|thing|wing|setting|heading|bearing|spacing|timing|reading"
    r"|meaning|drawing|loading|mapping|padding|encoding|sizing|damping|conditioning|coupling|scaling|rounding"
    r"|opening|listing|buckling|warning|cogging|ending|tracking"
)
PHRASES = (
    *("encoders that count", "go together", "with its place", "so many", "in words", "is met with", "told"),
    *("what there is", "there is none", "there are none", "is none", "are none"),
    *("for good", "beside", "Beside", "said of"),
    *("what iteration", "What iteration", "found by iteration", "needs iteration"),
)
PHRASE = re.compile(rf"\b({'|'.join(PHRASES)})\b")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_participle(name: str) -> bool:
    """Whether a name is one word, and that a participle."""
    word = name.strip("_")
    return bool(PARTICIPLE.fullmatch(word)) and not NOUN.fullmatch(word)


def _is_value(function: ast.FunctionDef) -> bool:
    """Whether a function is read like an attribute, where an adjective is right (`result.locked`)."""
    names = [getattr(mark, "id", getattr(mark, "attr", "")) for mark in function.decorator_list]
    return any("property" in name or name == "setter" for name in names)


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that a file defines, with their lines: functions, classes, parameters, variables, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def parts(name: str) -> list[str]:
    """Words of an identifier, in lower case: `LookRun` and `look_run` are look, run."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def test_functions_are_no_bare_participles() -> None:
    bad = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef) and is_participle(node.name) and not _is_value(node)
    ]
    listing = "\n".join(bad)
    assert len(bad) <= MOST_PARTICIPLES, f"{len(bad)} functions are participles:\n{listing}"


def test_identifiers_use_the_words_of_the_field() -> None:
    bad = {
        f"{path.relative_to(ROOT)}:{line} {name} ({BANNED_NAMES.get(name) or BANNED_PARTS[word]})"
        for path in SOURCES
        for name, line in identifiers(_tree(path))
        for word in parts(name)
        if word in BANNED_PARTS or name in BANNED_NAMES
    }
    assert len(bad) <= MOST_DIALECT, f"{len(bad)} names:\n" + "\n".join(sorted(bad))


def test_files_use_the_words_of_the_field() -> None:
    bad = [str(path) for path in SOURCES if set(parts(path.stem)) & BANNED_PARTS.keys()]
    assert len(bad) <= MOST_FILES, bad


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_have_none_of_the_phrases(page: Path) -> None:
    assert not PHRASE.findall(" ".join(page.read_text(encoding="utf-8").split()))


def test_messages_have_none_of_the_phrases() -> None:
    # Strings of one word are keys or names, not sentences.
    bad = [
        f"{path.relative_to(ROOT)}:{node.lineno} {match[0]}"
        for path in SOURCES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for match in PHRASE.finditer(" ".join(node.value.split()))
    ]
    assert not bad, "\n".join(bad)


def test_the_rules_find_what_they_forbid() -> None:
    assert is_participle("moved")
    assert is_participle("_drawn")
    assert is_participle("carrying")
    assert not is_participle("speed")
    assert not is_participle("solve_loops")
    assert not is_participle("string")
    assert parts("LookRun") == ["look", "run"]
    assert parts("_tie_rows") == ["tie", "rows"]
