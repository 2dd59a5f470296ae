"""Whatever text is given: a robot, or nacelle's own errors with their places, and in a bounded time."""

from __future__ import annotations

import collections
import functools
import math
import re
import string
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

import nacelle
from nacelle import DescriptionError, robots
from nacelle.model.source.node import MAX_BYTES, MAX_NODES
from nacelle.model.units import QUANTITIES, UnitError, parse_quantity
from support.hanging import edited_descriptions, error_of, time_limit, value_paths
from support.library import as_written

pytestmark = pytest.mark.filterwarnings("error")

TEXTS = {name: robots.text(name) for name in robots.names()}
# The time of an answer, in times that the YAML library alone needs for the longest list (0.4 to 0.8 s).
LIMIT = 3.0
LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")

SMALL = """\
format: nacelle/1
name: small
motion: [x]
constants: {L: 100 mm}
platform: {mass: 1 kg}
legs:
  - name: a
    bodies: {b: {mass: 1 kg, com: [$L/2, 0, 0], inertia: 0.1 0.1 0.1 kg*m^2}}
    joints:
      slide: {type: prismatic, parent: base, child: b, axis: x, actuator: {name: m}}
    closures: {weld: {type: fixed, parent: b, child: platform}}
"""

few = settings(max_examples=50, derandomize=True, deadline=None, database=None)
some = settings(few, max_examples=100)
many = settings(few, max_examples=200)


@functools.cache
def limit_s() -> float:
    """The longest processor time that an answer may take on this machine, in s."""
    text = "".join(f"- {k}\n" for k in range(MAX_NODES))
    times = []
    for _ in range(2):
        start = time.process_time()
        collections.deque(YAML(typ="safe", pure=True).parse(text), maxlen=0)
        times.append(time.process_time() - start)
    return LIMIT * min(times)


def check_answer(text: str) -> DescriptionError | None:
    """Read a text; demand that it is a robot, or that every problem has its place in the text."""
    error = error_of(lambda: nacelle.loads(text), limit_s())
    if error is None:
        return None
    assert error.problems
    lines = len(LINE_BREAK.split(text))
    for problem in error.problems:
        assert problem.severity == "error"
        assert 1 <= problem.line <= lines, problem
        assert problem.column >= 1, problem
        assert problem.message.strip()
        assert len(str(problem).splitlines()) == 1
        assert len(str(problem)) < 8000
        assert "Traceback" not in str(problem)
    return error


# ---------------------------------------------------------------------------- data as YAML


def yaml_text(value: Any, depth: int = 0) -> str:
    """Write plain data as YAML in flow style, a line for each entry."""
    pad = "\n" + " " * (depth + 1)
    if isinstance(value, dict):
        entries = [f"{scalar_text(str(k))}: {yaml_text(v, depth + 1)}" for k, v in value.items()]
        return "{" + pad + f",{pad}".join(entries) + "}" if entries else "{}"
    if isinstance(value, list):
        return "[" + pad + f",{pad}".join(yaml_text(v, depth + 1) for v in value) + "]" if value else "[]"
    return scalar_text(value)


def scalar_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else (".inf" if value > 0 else "-.inf")
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
        return f'"{escaped}"'
    return repr(value)


WRONG = [
    *(None, True, False, [], {}, "", " ", 0, -1, 2, -0.0, 1e300, 1e-300, math.nan, math.inf, -math.inf),
    *(
        10**390,
        10**400,
        [None],
        [[]],
        [1, 2, 3],
        [1, 2],
        ["x", "y"],
        {"x": {"y": [1]}},
        [{}],
        [[0, 0, 0]] * 3,
    ),
    *("x", "-z", "a b", "a\nb", "é😀", "base", "null", "a" * 300, "1" * 300, "$", "$x", "-$x", "1e999*$L"),
    *("1e13 m", "1e14 m", "-1 mm", "0 mm", "1e-300 kg", "-3 kg", "1e-200 m", "1e12 deg", "π/2", "pi/0"),
    *("0 0 0 mm", "1 2 mm", "0 0 0", "1 2 3 4", "nan mm", "1 furlong", "kg", "5 5", "1e5 N*m*s/rad/rad"),
    *("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar-spherical", "fixed"),
    *("point", "rigid", "articulated", "bar", "spindle", "telescopic", "screw", "SI", "se3", "xy", "xyz+rz"),
    *(
        {"translation": "0 0 1 m"},
        {"angle": "30 deg", "axis": "z"},
        {"rotation": {"quat_xyzw": [0, 0, 0, 1]}},
    ),
]


@st.composite
def typos(draw: st.DrawFn, word: str) -> str:
    """A word with one letter lost, doubled, changed, or swapped with its neighbour."""
    k = draw(st.integers(0, max(0, len(word) - 1)))
    letter = draw(st.sampled_from(string.ascii_lowercase))
    return draw(
        st.sampled_from(
            [
                word[:k] + word[k + 1 :],
                word[:k] + word[k : k + 1] * 2 + word[k + 1 :],
                word[:k] + letter + word[k + 1 :],
                word[:k] + word[k + 1 : k + 2] + word[k : k + 1] + word[k + 2 :],
            ]
        )
    )


@pytest.mark.slow
@some
@given(edited_descriptions(st.sampled_from(sorted(TEXTS)).map(as_written), st.sampled_from(WRONG), typos))
def test_edited_data(data: Any) -> None:
    check_answer(yaml_text(data))


# ---------------------------------------------------------------------------- text

PIECES = [
    *"[]{}:,-?&*!|>'\"%@`#\t\n\r \\$~=<é😀0.\x00\x07\x7f\x85\u2028\ufeff",
    *(
        "\n  ",
        "\n\t",
        ": ",
        "- ",
        "? ",
        "---\n",
        "...\n",
        "&a ",
        "*a",
        "*a ",
        "!!python/object:os.system ",
        "!x ",
    ),
    *("<<: *a", "<<: {a: 1}", "%YAML 1.1\n", "%TAG ! x\n", "| ", "> ", "|9\n", '"\\UFFFFFFFF"', '"\\ud800"'),
    *(
        "&a [*a]",
        "{a: 1, a: 2}",
        "[" * 30,
        "{a: " * 30,
        "1e999",
        ".nan",
        "0x1F",
        "0o7",
        "1_000",
        "2001-01-01",
    ),
]
ABSURD = ["0", "-1", "1e13", "1e9", "1e-9", "1e-150", "1e-310", "1e300", "1e-5"]
# Numbers, words, values of a key, and numbers that have a unit.
PATTERNS = {
    "number": r"-?\d+(\.\d+)?",
    "word": r"[^\s,:\[\]{}]+",
    "typo": r"(?<=: )[A-Za-z][\w-]+|\$\w+",
    "quantity": r"(?<=[ \[])(-?\d+(?:\.\d+)?)(?= [a-zA-Z])",
}
EDITS = ("cut", "insert", "double", *PATTERNS, "line", "indent", "swap")
NUMBERS = ["0", "-1", "-0.0", "1e300", "1e-300", "1e13", "1e12", "1e-9", ".nan", "1" * 500, "1e5", "1 2", ""]


@st.composite
def edited_texts(draw: st.DrawFn) -> str:
    """The text of a robot of the library with up to three edits."""
    text = TEXTS[draw(st.sampled_from(sorted(TEXTS)))]
    for _ in range(draw(st.integers(1, 3))):
        what = draw(st.sampled_from(EDITS))
        if what in ("cut", "insert", "double"):
            start = draw(st.integers(0, len(text)))
            end = min(len(text), start + draw(st.sampled_from([1, 1, 2, 5, 20, 200])))
            middle = {"cut": "", "double": text[start:end] * 2}.get(what)
            if middle is None:
                middle, end = draw(st.sampled_from(PIECES)), start
            text = text[:start] + middle + text[end:]
        elif what in PATTERNS:
            found = list(re.finditer(PATTERNS[what], text))
            if found:
                spot = draw(st.sampled_from(found))
                others = {"number": NUMBERS, "quantity": ABSURD}.get(what, [m.group() for m in found])
                other = draw(typos(spot.group()) if what == "typo" else st.sampled_from(others))
                text = text[: spot.start()] + other + text[spot.end() :]
        else:
            lines = text.split("\n")
            i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            if what == "line":
                lines[i : i + 1] = draw(st.sampled_from([[], [lines[i]] * 2, [lines[i], lines[j]]]))
            elif what == "indent":
                lines[i] = draw(st.sampled_from(["  ", " ", "\t", "- "])) + lines[i]
            else:
                lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
    return text


@pytest.mark.slow
@many
@given(edited_texts())
def test_edited_text(text: str) -> None:
    check_answer(text)


@pytest.mark.slow
@many
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
@example("")
@example("\ud800")
def test_any_text(text: str) -> None:
    assert check_answer(text) is not None


@many
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.integers(0, len(SMALL)))
def test_pieces_in_a_small_robot(piece: str, position: int) -> None:
    check_answer(SMALL[:position] + piece + SMALL[position:])


def test_the_small_robot_is_one() -> None:
    assert check_answer(SMALL) is None


@pytest.mark.costly
@pytest.mark.parametrize("ending", ["", "\n", "#", '"', "\\"])
def test_cut_off_at_every_character(ending: str) -> None:
    for end in range(len(SMALL) - 2):
        check_answer(SMALL[:end] + ending)


@pytest.mark.costly
@pytest.mark.parametrize("name", TEXTS)
def test_cut_off_at_every_line(name: str) -> None:
    lines = TEXTS[name].split("\n")
    for end in range(0, len(lines) - 2, 3):
        check_answer("\n".join(lines[:end]))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("line_break", ["\r\n", "\r"])
def test_line_breaks_and_byte_order_mark(name: str, line_break: str) -> None:
    robot = nacelle.load(name)
    assert nacelle.loads("\ufeff" + TEXTS[name].replace("\n", line_break)).hash == robot.hash


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "robot.yaml"


@some
@given(st.binary(min_size=1, max_size=6), st.integers(0, 10_000))
@example(b"\xef\xbb\xbf", 0)
@example(b"\xff\xfe", 0)
def test_any_bytes_in_a_file(file: Path, piece: bytes, position: int) -> None:
    data = SMALL.encode()
    position %= len(data) + 1
    file.write_bytes(data[:position] + piece + data[position:])
    error = error_of(lambda: nacelle.check(file), limit_s())
    for problem in error.problems if error else ():
        assert (problem.file, problem.line >= 1, problem.column >= 1) == (str(file), True, True)
        assert len(str(problem).splitlines()) == 1


# ---------------------------------------------------------------------------- typing errors

# Keys of the format, and those of them that a robot uses first as a name of its own choice.
OWN_NAMES = {"c5": {"axis", "platform"}, "orthoglide": {"end", "platform"}, "palida": {"viscous"}}
KEYS = set(
    re.findall(
        r"\w+",
        """
        format name title notes sources motion gravity reference position constants templates parameters
        platform tools legs repeat table placements angles names count mass com inertia display bodies joints
        closures elements end type parent child at child_at axis guess actuator rotor_inertia gear_ratio
        limits speed force friction viscous coulomb length input body placement translation cylinder radius
        sphere box size plane
        """,
    )
)


def with_typo(key: str) -> str:
    """Swap two letters in the middle; short words double their last one."""
    k = len(key) // 2
    if len(key) < 5 or key[k] == key[k - 1]:
        return key + key[-1]
    return key[: k - 1] + key[k] + key[k - 1] + key[k + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.thinned
def test_a_typing_error_in_a_key_is_suggested_against(name: str) -> None:
    used = {str(path[-1]) for path in value_paths(as_written(name))} & KEYS - OWN_NAMES.get(name, set())
    missed = []
    for key in sorted(used):
        wrong = with_typo(key)
        text, count = re.subn(rf"(?<![\w-]){key}:", f"{wrong}:", TEXTS[name], count=1)
        assert count == 1
        error = check_answer(text)
        assert error is not None, f"{wrong!r} for {key!r} is taken"
        if not any(f"did you mean {key!r}" in problem.hint for problem in error.problems):
            missed.append(key)
    assert missed == []


# ---------------------------------------------------------------------------- absurd numbers


@pytest.mark.parametrize("scale", ["1e-310", "1e-200", "1e-13", "1e-3", "1e6", "1e12"])
@pytest.mark.parametrize("name", ["fivebar", "palida", "quattro"])
def test_robots_of_every_size(name: str, scale: str) -> None:
    """All lengths scaled together."""
    text = re.sub(r"(?<=\d) mm\b", "e-3 m", TEXTS[name])
    exponent = scale.removeprefix("1")
    text = re.sub(r"([\d.]+)e-3 m\b", lambda m: f"{float(m[1]) * 1e-3}{exponent} m", text)
    check_answer(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "mass: 0.4 kg\n          com: [$proximal/2, 0, 0]",
            "mass: 1e-300 kg\n          first_moment: 1 0 0 kg*m",
        ),
        ("mass: 0.4 kg", "mass: 1e-300 kg"),
        ("mass: 0.4 kg", "mass: 1e13 kg"),
        ("com: [$proximal/2, 0, 0]", "com: 1e13 0 0 m"),
        ("end: {type: revolute, axis: z}", "end: {type: universal, axes: [z, z]}"),
        ("end: {type: revolute, axis: z}", "end: {type: universal, axes: [z, x]}"),
        ("end: {type: revolute, axis: z}", "end: {type: revolute, axis: [1e-300, 0, 0]}"),
        ("end: {type: revolute, axis: z}", "end: {type: revolute, axis: [1e13, 1e13, 0]}"),
        ("half_base: 100 mm", f"half_base: {10**390}"),
        ("half_base: 100 mm", f"half_base: [{10**390}, 1e300 m]"),
        ("$proximal/2", "1e300*$proximal/1e-300"),
        ("$proximal/2", "$proximal/1e-999"),
        ("$proximal/2", "$proximal/0"),
        ("proximal-input: 130 deg", "proximal-input: 1e13 rad"),
        ("position: [-30 deg, 210 deg]", "position: [1e13 rad, -1e13 rad]"),
    ],
)
def test_numbers_at_the_edge(old: str, new: str) -> None:
    text = TEXTS["fivebar"]
    assert old in text
    check_answer(text.replace(old, new, 1))


@pytest.mark.parametrize("position", ["5 0 0 m", "0 0 1e13 m", "1e-13 0 0 m", "0 0 0 m"])
@pytest.mark.parametrize("name", TEXTS)
def test_references_out_of_reach(name: str, position: str) -> None:
    text = re.sub(r"(?m)^reference: .*\n", "", TEXTS[name])
    check_answer(text + f"\nreference: {{position: {position}}}\n")


@many
@given(st.one_of(st.text(max_size=30), st.text("0123456789.eE+-*/ pi π$mkgsNrad^²·°,\n", max_size=40)))
def test_any_quantity(text: str) -> None:
    for kind in ("length", "angle", "number", "angular damping"):
        for defaults in (None, {"*": "SI"}):
            try:
                reported = f"{parse_quantity(text, QUANTITIES[kind], defaults)}"
            except UnitError as error:
                reported = f"{error} {error.hint}"
            assert len(reported.splitlines()) == 1
            assert reported not in ("nan", "inf", "-inf")


# ---------------------------------------------------------------------------- deep, large, slow

START = "format: nacelle/1\nname: a\nmotion: xyz\nplatform: {mass: 1 kg}\n"
LONG = MAX_BYTES - 500  # characters that a text may have beside its start
FULL = MAX_NODES - 100  # values that a text may hold beside its start
LEG = START + "legs:\n  - name: a\n"


def repeat_line(line: str, count: int) -> str:
    """So many lines, counted where they have a "#"."""
    return "".join(line.replace("#", str(k)) + "\n" for k in range(count))


def chain(bodies: int, legs: int) -> str:
    """Legs of many bodies in a row."""
    joints = [
        f"      j{k}: {{type: revolute, parent: {f'b{k - 1}' if k else 'base'}, child: b{k}, active: true}}\n"
        for k in range(bodies)
    ]
    return (
        f"{START}templates:\n  t:\n    bodies:\n{repeat_line('      b#: {}', bodies)}    joints:\n"
        f"{''.join(joints)}    closures: {{e: {{type: spherical, parent: b{bodies - 1}, child: platform}}}}\n"
        f"legs: [{{repeat: t, count: {legs}}}]\n"
    )


def constant_bomb(reference: str) -> str:
    lines = ["  a0: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"]
    lines += [f"  a{k + 1}: [{', '.join([f'{reference}a{k}'] * 10)}]\n" for k in range(12)]
    return f"{START}constants:\n{''.join(lines)}gravity: {reference}a12\n"


def alias_bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"]
    lines += [f"a{k + 1}: &a{k + 1} [{', '.join([f'*a{k}'] * 10)}]\n" for k in range(12)]
    return "".join(lines)


BOMBS = {
    "aliases": alias_bomb(),
    "aliases in a line": "&a [" + "&b [x, x, x], *b, *b, *b, *b" + "]\n",
    "constants": constant_bomb("$"),
    "scaled constants": constant_bomb("2*$"),
    "deep constants": f"{START}constants:\n  a0: [1]\n"
    + "".join(f"  a{k + 1}: [$a{k}]\n" for k in range(FULL // 4))
    + f"gravity: $a{FULL // 4}\n",
    "deep aliases": "a0: &a0 [1]\n" + "".join(f"a{k + 1}: &a{k + 1} [*a{k}]\n" for k in range(300)),
    "large template": f"{START}templates:\n  t:\n{repeat_line('    k#: [' + '1, ' * 80 + ']', FULL // 85)}"
    "legs: [{repeat: t, count: 64}]\n",
    "large parameter": f"{START}templates: {{t: {{parameters: {{P: null}}, a: [{'$P, ' * 100}]}}}}\n"
    f"legs: [{{repeat: t, count: 64, with: {{P: [{'1, ' * (FULL // 2)}]}}}}]\n",
    "10 MB": "x" * 10_000_000,
}

SLOW = {
    "brackets": "[" * 10_000,
    "braces": "{" * 10_000,
    "braces with keys": "{a: " * 10_000,
    "sequences": "- " * 10_000,
    "questions": "? " * 10_000,
    "indentation": "".join(" " * k + "a:\n" for k in range(700)),
    "closing brackets": "]" * 10_000,
    "quotes": '"' * (LONG | 1),
    "single quotes": "'" * (LONG | 1),
    "exclamation marks": "!" * (LONG // 2),
    "ampersands": "&" * (LONG // 2),
    "stars": "*" * (LONG // 2),
    "percent signs": "%" * (LONG // 2),
    "directives": "%TAG !a# tag:x\n".replace("#", "b") * (LONG // 16),
    "documents": "---\n" * (LONG // 4),
    "document ends": "...\n" * (LONG // 4),
    "comments": "# a\n" * (LONG // 4),
    "blank lines": "\n" * LONG,
    "blanks": " " * LONG,
    "tabs": "\t" * LONG,
    "escapes": 'a: "' + "\\x41" * (LONG // 4) + '"\n',
    "block": "notes: |\n" + "  abc def\n" * (LONG // 10),
    "folded": "notes: >\n" + "  abc def\n" * (LONG // 10),
    "plain lines": "notes: abc\n" + "  abc def\n" * (LONG // 10),
    "list": "[" + "1, " * (LONG // 3) + "]",
    "1 MB": "a: b\n" * 200_000,
    "long key": "a" * LONG + ": 1\n",
    "long name": START.replace("name: a", "name: " + "a" * LONG),
    "long alias": "*" + "a" * LONG + "\n",
    "long tag": "!" + "a" * LONG + " x\n",
    "long number": f"{START}gravity: 0 0 {'1' * LONG} m/s^2\n",
    "long number in a list": f"{START}gravity: [0, 0, {'1' * LONG}x]\n",
    "blanks in a number": f'{START}gravity: [0, 0, "1{" " * LONG}x"]\n',
    "blanks in pi": f'{START}gravity: [0, 0, "2{" " * (LONG // 2)}*{" " * (LONG // 2)}x"]\n',
    "numbers and a line": f'{START}gravity: "{"11 " * 40}a\\nb"\n',
    "many numbers and a line": f'{START}gravity: "{"1 " * (LONG // 2)}a\\nb"\n',
    "many numbers": f"{START}gravity: {'1 ' * (LONG // 2)}m\n",
    "inertia": START.replace("mass: 1 kg", f"mass: 1 kg, inertia: {'1 ' * (LONG // 2)}kg*m^2"),
    "long unit": f"{START}gravity: 0 0 1 {'m*' * (LONG // 2)}m\n",
    "long reference": f'{START}gravity: "{"1" * LONG}$"\n',
    "blanks in a reference": f'{START}gravity: "2{" " * (LONG // 2)}*{" " * (LONG // 2)}$x"\n',
    "long name of a reference": f"{START}gravity: ${'a' * LONG}\n",
    "long motion": START.replace("motion: xyz", f"motion: {'x+' * (LONG // 2)}x"),
    "long text of a table": f'{LEG}    table: "j{" " * LONG}a"\n',
    "cells": f"{LEG}    table: '{'a ' * (LONG // 2)}'\n",
    "long cell": f"{LEG}    table: [[j, a{' ' * LONG}=b]]\n",
    "cell that ends in a line": f'{LEG}    table: [["a={" " * LONG}b\\nc"]]\n',
    "unknown keys": START + repeat_line("foo#: 1", FULL // 2),
    "unknown constants": f"{START}constants:\n{repeat_line('  foo#: 1', FULL // 4)}actuators:\n"
    + repeat_line("  - $fox#", FULL // 2),
    "unknown quantities": f"{START}units:\n{repeat_line('  length#: mm', FULL // 2)}",
    "wrong joints": f"{LEG}    joints:\n{repeat_line('      j#: {typ: 1}', FULL // 4)}",
    "wrong elements": f"{LEG}    elements:\n{repeat_line('      - [#]', FULL // 2)}",
    "wrong bodies in 64 legs": f"{START}templates:\n  t:\n    bodies:\n"
    + repeat_line("      b#: {mass: 1}", FULL // 4)
    + "legs: [{repeat: t, count: 64}]\n",
    "unknown keys in 64 legs": f"{START}templates:\n  t:\n{repeat_line('    k#: 1', FULL // 2)}"
    "legs: [{repeat: t, count: 64}]\n",
    "dangling joints": f"{LEG}    bodies:\n{repeat_line('      b#: {}', FULL // 10)}    joints:\n"
    + repeat_line("      j#: {type: fixed, parent: x#, child: y#}", FULL // 10),
    "unknown guesses": f"{LEG}    bodies: {{b: {{}}}}\n    guess:\n"
    + repeat_line("      j#: 1 m", FULL // 2 - 20)
    + "    joints: {j: {type: revolute, parent: base, child: b}}\n",
    "a million legs": f"{START}templates: {{t: {{}}}}\nlegs: [{{repeat: t, count: 1000000}}]\n",
    "many legs": f"{START}legs:\n{repeat_line('  - {name: a#}', FULL // 3)}",
    "many rows": f"{START}templates: {{t: {{}}}}\nlegs:\n  - repeat: t\n    table:\n"
    + repeat_line("      - {name: a#}", FULL // 3),
    "rows of a table": f"{LEG}    table: |\n      j a sigma alpha d theta r\n"
    + repeat_line("      # 0 0 0 0 q 0", 5000),
    "many bodies": chain(FULL // 13, 1),
    "64 legs": chain(12, 64),
    "many closures": f"{LEG}    bodies: {{b: {{}}}}\n"
    "    joints: {j: {type: revolute, parent: base, child: b, active: true}}\n    closures:\n"
    + repeat_line("      c#: {type: spherical, parent: b, child: platform}", FULL // 8),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", BOMBS | SLOW)
def test_deep_large_and_slow_texts(name: str) -> None:
    error = check_answer((BOMBS | SLOW)[name])
    assert error is not None
    # All are counted, the first hundred are said.
    assert len(str(error).splitlines()) <= 102


@pytest.mark.costly
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_take_little_memory(name: str) -> None:
    tracemalloc.start()
    try:
        with time_limit(), pytest.raises(DescriptionError):
            nacelle.loads(BOMBS[name])
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("count", [0, -1, 1, 64, 65, 100_000, 10**30])
def test_counts(name: str, count: int) -> None:
    """Any number in place of the number of legs, however the robot repeats them."""
    text = re.sub(r"count: \d+", f"count: {count}", TEXTS[name])
    if text == TEXTS[name]:
        text = re.sub(r"(- repeat: \w+)", rf"\1\n    count: {count}", text, count=1)
    check_answer(text)


@pytest.mark.costly
@pytest.mark.parametrize("part", ["modes", "tools", "payload"])
def test_thousands_of_modes_tools_and_payloads(part: str) -> None:
    value = "{mass: 1 kg}" if part == "payload" else "{}"
    text = re.sub(r"(?m)^tools:\n(  .*\n)*", "", TEXTS["delta"])
    check_answer(f"{text}\n{part}:\n" + repeat_line(f"  k#: {value}", FULL // 13))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: !!python/object:os.system x\n", "tag"),
        ("a: !!python/object/apply:os.system [x]\n", "tag"),
        ("a: !!binary x\n", "tag"),
        ("a: !x {b: c}\n", "tag"),
        ("<<: {a: 1}\n", "merge keys"),
        ("a: &a {b: 1}\nc: {<<: *a}\n", "merge keys"),
        ("a: &a [*a]\n", "no anchor before it"),
        ("&a [*a]", "no anchor before it"),
        ("a: &a {b: *a}\n", "no anchor before it"),
        ("a: *b\n", "no anchor before it"),
        ("--- a\n--- b\n", "second document"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("a: 1\na: 2\n", "is given twice"),
        ("{a: 1, a: 2}", "is given twice"),
        ("? [a]\n: b\n", "plain name"),
        ("? {a: b}\n: c\n", "plain name"),
        ('"a\\nb": 1\n', "plain name"),
        ("a: &a x\n*a : 1\n", "plain name"),
        ("- a\n- b\n", "a description is a mapping"),
        ("just text\n", "a description is a mapping"),
        ("42\n", "a description is a mapping"),
        ("", "empty"),
        ("# nothing\n", "empty"),
        ("~\n", "empty"),
        ("a:\tb\n\tc: d\n", "not YAML"),
        ("a: [1, 2\n", "not YAML"),
        ("a: b: c\n", "not YAML"),
        ('a: "\\UFFFFFFFF"\n', "not YAML"),
        ('a: "\\ud800"\n', "half a character"),
        ("a: \x07\n", "not YAML"),
        ("%YAML 1.3\n---\na: 1\n", "not YAML"),
    ],
)
def test_what_yaml_may_not_hold(text: str, words: str) -> None:
    error = check_answer(text)
    assert error is not None
    assert words in str(error)
