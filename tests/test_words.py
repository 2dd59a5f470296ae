"""One language: identifiers and pages use the words of the field; functions are verbs or nouns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import nacelle

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "nacelle").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "exchange").glob("*.md")),
]

# Words that stand for something else in the field, wherever they are part of an identifier.
BANNED_PARTS = {
    **dict.fromkeys(("tie", "ties"), "closure constraint"),
    **dict.fromkeys(("bar", "bars"), "strut, two-force link"),
    **dict.fromkeys(("felt", "unfelt"), "effective, excited"),
    "strengthened": "re-evaluated with pivoting",
    "snapped": "regularised",
    **dict.fromkeys(("spinning", "idle"), "internal freedom"),
    **dict.fromkeys(("hanging", "hangs"), "branch on the platform"),
    "askew": "misaligned",
    **dict.fromkeys(("stump", "stumps"), "sub-chains"),
    "looped": "has_feedback",
    "lifted": "projected",
    **dict.fromkeys(("rehearse", "rehearsal", "rehearsals"), "simulated experiment"),
    **dict.fromkeys(("looking", "look"), "visual feedback"),
    "particular": "custom tables",
    "beside": "background worker, in addition to",
    "door": "public API",
    **dict.fromkeys(("lane", "lanes"), "batch"),
    "gate": "margin",
    "witness": "reference engine",
    "told": "given as an argument",
    "serves": "supports",
    "drift": "bias",
    **dict.fromkeys(("said", "words"), "message, description, label"),
    **dict.fromkeys(("recipe", "recipes"), "closed-form solution"),
}
# Whole identifiers (of classes, variables and parameters) that say nothing, or are taken for something else.
BANNED_NAMES = {
    **dict.fromkeys(("smallest_form", "general_form"), "compact form"),
    **dict.fromkeys(("Placed", "placed"), "configured robot, pose, placed solid"),
    "Way": "form options",
    **dict.fromkeys(("Required", "Counted", "into"), "force accumulator, force terms"),
    "FeltMasses": "effective masses",
    "weak": "ill-conditioned",
    **dict.fromkeys(("Ordinary", "OneState"), "regular sample, single-sample path"),
    **dict.fromkeys(("solved", "settled"), "solution, converged"),
    "FrameChange": "loop-closing correction",
    **dict.fromkeys(("WrittenText", "written"), "tracked literal, or what it is"),
    **dict.fromkeys(("Natural", "Extended"), "reduced coordinates, flexible tree"),
    **dict.fromkeys(("ControllerKind", "Sampled"), "ControlLaw, DigitalController"),
    "by_masses": "uses_mass_matrix",
    **dict.fromkeys(("Course", "course", "Change"), "schedule, plant switch"),
    **dict.fromkeys(("place", "places", "place_of"), "index, slice, offset, position"),
    **dict.fromkeys(("own", "given", "made", "found", "listed", "one", "other"), "what it is"),
    **dict.fromkeys(("wanted", "asked"), "request, names, variables, unlimited_force"),
    "described": "nominal, from the description",
    **dict.fromkeys(("turn", "turned"), "rotation, angle"),
    **dict.fromkeys(("moved", "carrying"), "displaced pose, with_payloads"),
    **dict.fromkeys(("Drawn", "Shown", "drawn", "shown"), "Plottable, HasHtml, what it is"),
    "nacelle": "platform",
}
# Identifiers that are wrong in one part of the package alone.
BANNED_IN = {
    "control": dict.fromkeys(("pieces", "ahead"), "building blocks, delay compensation"),
    "model": dict.fromkeys(("declared",), "parametric, defaults"),
    "program/identities": dict.fromkeys(("declared",), "parametric"),
}
# Where a word is the field's own, or another library's: beginnings of paths, words, reason.
ALLOWED = (
    (("emit/",), ("lane", "lanes"), "a lane of a SIMD register, or of a warp"),
    (("vision/",), ("gate",), "the validation gate of a Kalman filter"),
    (("papers/elements/", "report/elements"), ("bar", "bars"), "the bar, an element of [OAM]"),
    (("kinematics/legs/leg_type",), ("bar", "bars"), "the letter B of [OAM]'s names of leg types"),
    (("cli/progress", "simulation/run"), ("bar",), "a progress bar"),
    (("report/draw/", "report/results/"), ("bar", "bars"), "a colour bar, the bars of a chart"),
    (("report/identification",), ("bar",), "the bar of an interval in a table"),
    (("program/derivative",), ("bar",), "adjoints, x with a bar over it"),
    (("view/viewer", "vision/camera"), ("look_at",), "the point that a camera looks at; viser's name"),
    (("identification/", "vision/calibration/"), ("weak",), "weakly determined parameters"),
    (("emit/", "program/"), ("one",), "the number 1 in generated code, next to zero"),
    (("program/cost",), ("other",), "a class of operations that are counted"),
    (("control/vision/camera_file", "vision/image/pixel_model"), ("other",), "a key of camera files"),
    (("control/scenario/spec",), ("moved",), "a key of scenarios"),
    (("view/browser/server",), ("idle",), "a server that nobody asks anything"),
    (("report/draw/", "view/"), ("shown",), "a flag: whether something is shown"),
)
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
# Names that Python itself calls.
PROTOCOLS = ("__missing__", "_missing_")
PHRASES = (
    *("encoders that count", "go together", "with its place", "so many", "in words", "is met with", "told"),
    *("what there is", "there is none", "there are none", "is none", "are none"),
    *("for good", "beside", "Beside", "said of"),
    *("what iteration", "What iteration", "found by iteration", "needs iteration"),
)
PHRASE = re.compile(rf"\b({'|'.join(PHRASES)})\b")


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def _words_of_identifiers(path: Path) -> frozenset[str]:
    names = [name for name, _ in identifiers(_nodes(path))]
    return frozenset(word for name in names for word in (name.strip("_"), *parts(name)))


def is_participle(name: str) -> bool:
    """Whether a name is one word, and that a participle."""
    word = name.strip("_")
    return bool(PARTICIPLE.fullmatch(word)) and not NOUN.fullmatch(word)


def _is_value(function: ast.FunctionDef) -> bool:
    """Whether a function is read like an attribute, where an adjective is right (`result.locked`)."""
    names = [getattr(mark, "id", getattr(mark, "attr", "")) for mark in function.decorator_list]
    return any("property" in name or name == "setter" for name in names)


def identifiers(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Names that nodes define, with their lines: functions, classes, parameters, variables, attributes."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def second_operands(nodes: Iterable[ast.AST]) -> set[tuple[str, int]]:
    """Parameters `other` right after `self`, as Python calls the second operand, with their lines."""
    return {
        (argument.arg, argument.lineno)
        for node in nodes
        if isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args[:1]] == ["self"]
        for argument in node.args.args[1:3]
        if argument.arg == "other"
    }


def parts(name: str) -> list[str]:
    """Words of an identifier, in lower case: `LookRun` and `look_run` are look, run."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def bad_word(path: str, name: str) -> str:
    """Word of an identifier that is not the field's, with those to use; empty if there is none."""
    bare = name.strip("_")
    allowed = {word for beginnings, words, _ in ALLOWED if path.startswith(beginnings) for word in words}
    if bare in allowed:
        return ""
    for folder, names in BANNED_IN.items():
        if path.startswith(f"{folder}/") and bare in names:
            return f"{bare}: {names[bare]}"
    if bare in BANNED_NAMES:
        return f"{bare}: {BANNED_NAMES[bare]}"
    for word in parts(name):
        if word in BANNED_PARTS and word not in allowed:
            return f"{word}: {BANNED_PARTS[word]}"
    return ""


def test_functions_are_no_bare_participles() -> None:
    bad = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in _nodes(path)
        if isinstance(node, ast.FunctionDef) and is_participle(node.name) and not _is_value(node)
        if node.name not in PROTOCOLS
    ]
    assert not bad, "\n".join(bad)


def test_identifiers_use_the_words_of_the_field() -> None:
    bad = [
        f"{path}:{line} {name} ({word})"
        for path in SOURCES
        for operands in (second_operands(_nodes(path)),)
        for name, line in identifiers(_nodes(path))
        if (name, line) not in operands
        for word in (bad_word(path.relative_to(ROOT / "src" / "nacelle").as_posix(), name),)
        if word
    ]
    assert not bad, "\n".join(sorted(set(bad)))


def test_files_use_the_words_of_the_field() -> None:
    bad = [
        f"{path} ({word})"
        for path in SOURCES
        for word in (bad_word(path.relative_to(ROOT / "src" / "nacelle").as_posix(), path.stem),)
        if word
    ]
    assert not bad, "\n".join(bad)


def test_public_functions_use_the_words_of_the_field() -> None:
    bad = set(nacelle.__all__) & {"moved", "along", "carrying", "reach", "settle", "rehearse"}
    assert not bad, bad


def test_every_exception_is_needed() -> None:
    bad = [
        f"{beginning} {', '.join(words)}"
        for beginnings, words, _ in ALLOWED
        for beginning in beginnings
        if not any(
            not _words_of_identifiers(path).isdisjoint(words)
            for path in SOURCES
            if path.relative_to(ROOT / "src" / "nacelle").as_posix().startswith(beginning)
        )
    ]
    assert not bad, bad


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_have_none_of_the_phrases(page: Path) -> None:
    assert not PHRASE.findall(" ".join(page.read_text(encoding="utf-8").split()))


def test_messages_have_none_of_the_phrases() -> None:
    # Strings of one word are keys or names, not sentences.
    bad = [
        f"{path.relative_to(ROOT)}:{node.lineno} {match[0]}"
        for path in SOURCES
        for node in _nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for match in PHRASE.finditer(" ".join(node.value.split()))
    ]
    assert not bad, "\n".join(bad)


def _documented_attributes(docstring: str) -> list[str]:
    """Entries of the section `Attributes` of a docstring."""
    section = re.search(r"^Attributes:\n((?: {4}.*\n?|\n)+)", docstring, re.M)
    return re.findall(r"^ {4}(\w+): ", section.group(1), re.M) if section else []


def test_docstrings_name_attributes_that_exist() -> None:
    classes = {
        node.name: (node, path) for path in SOURCES for node in _nodes(path) if isinstance(node, ast.ClassDef)
    }

    def names(node: ast.ClassDef) -> set[str]:
        inherited = [classes[b.id][0] for b in node.bases if isinstance(b, ast.Name) and b.id in classes]
        nodes = tuple(ast.walk(node))
        return set().union(
            {name for name, _ in identifiers(nodes)},
            {child.attr for child in nodes if isinstance(child, ast.Attribute)},
            *(names(base) for base in inherited),
        )

    bad = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}.{name}"
        for node, path in classes.values()
        for documented in (_documented_attributes(ast.get_docstring(node) or ""),)
        for name in sorted(set(documented) - names(node) if documented else ())
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
    assert bad_word("control/loop/run.py", "_place").startswith("place")
    assert bad_word("control/gains.py", "ahead").startswith("ahead")
    assert bad_word("emit/lu.py", "lane_count") == ""
    assert bad_word("compact/lu.py", "lane_count").startswith("lane")
    assert bad_word("compact/legs.py", "wanted").startswith("wanted")
