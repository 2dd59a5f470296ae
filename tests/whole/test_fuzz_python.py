"""Whatever Python data are given to `build`: within a second a robot, or a DescriptionError."""

from __future__ import annotations

import collections
import copy
import datetime
import decimal
import enum
import fractions
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle import DescriptionError
from nacelle.model.source.node import MAX_BYTES, MAX_NODES
from support.hanging import edited_descriptions, entry, error_of, value_paths
from support.library import NAMES, as_written, in_full, library_robot

pytestmark = pytest.mark.filterwarnings("error")

LIMIT_S = 1.0
# The keys of a description, at its top.
KEYS = sorted(nacelle.io.schema()["properties"])

some = settings(max_examples=80, derandomize=True, deadline=None, database=None)
many = settings(some, max_examples=200)


def keeps_promise(data: Any) -> DescriptionError | None:
    """Build; demand that it is a robot, or that every problem is told in one line."""
    error = error_of(lambda: nacelle.build(data), LIMIT_S)
    if error is not None:
        assert error.problems
        assert len(error.problems) <= 101
        for problem in error.problems:
            assert (problem.file, problem.line, problem.column) == ("<python>", 0, 0)
            assert problem.message.strip()
            assert len(str(problem).splitlines()) == 1
            assert len(str(problem)) < 8000
    return error


class Colour(enum.Enum):
    RED = 1


class Word(str, enum.Enum):  # noqa: UP042, the old way to write it is the point
    REVOLUTE = "revolute"


class Level(enum.IntEnum):
    ONE = 1


class Loud(str):
    def __str__(self) -> str:
        raise RuntimeError("no str")


class Opaque:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


NUMBERS = [
    *(0, 1, -1, 2, 0.5, -0.0, 1e300, -1e300, 1e-300, 5e-324, math.nan, math.inf, -math.inf, 1e13, 1e14),
    *(10**390, 10**400, -(10**400), 10**5000, -(10**5000), True, False, Level.ONE),
    *(np.float64(1.5), np.float32(0.1), np.int64(3), np.bool_(True), np.float64("nan"), np.longdouble(2)),
]
ARRAYS = [
    *(
        np.zeros(3),
        np.zeros((3, 3)),
        np.eye(3),
        np.zeros(0),
        np.zeros((2, 0)),
        np.array(1.0),
        np.array([1, 2]),
    ),
    *(np.full(3, np.nan), np.array([1e300, 0, 0]), np.array(["x", "y"]), np.array([None, {}], dtype=object)),
    *(np.zeros((10, 10, 10)), np.zeros(10**6), np.array([1j]), np.array([b"x"]), np.zeros(2, dtype="i4,f8")),
    *(np.array("2001-01-01", dtype="datetime64[D]"), np.ma.masked_array([1.0, 2.0], [True, False])),
]
OBJECTS = [
    *(
        b"x",
        bytearray(b"x"),
        1j,
        set(),
        frozenset(),
        object(),
        Opaque(),
        Ellipsis,
        NotImplemented,
        int,
        np.ndarray,
    ),
    *(len, lambda: 0, math, range(3), iter([]), (x for x in ()), memoryview(b"x"), Colour.RED, Word.REVOLUTE),
    *(decimal.Decimal("1.5"), fractions.Fraction(1, 3), datetime.date(2001, 1, 1), datetime.timedelta(1)),
    *(
        types.MappingProxyType({}),
        collections.OrderedDict(a=1),
        collections.UserDict(),
        collections.deque([1]),
    ),
    *(Loud("x"), np.str_("revolute"), collections.Counter("ab"), collections.namedtuple("P", "x y")(1, 2)),
]
TEXTS = [
    *(
        "",
        " ",
        "x",
        "-z",
        "a b",
        "a\nb",
        "\x00",
        "\ud800",
        "é😀",
        "a" * 300,
        "1" * 5000,
        "$",
        "$x",
        "-$L",
        "2*$L",
    ),
    *(
        "0 0 1 mm",
        "1e13 m",
        "1e14 m",
        "-1 kg",
        "1e-300 kg",
        "nan",
        "π/2",
        "pi/0",
        "11 " * 40 + "a\nb",
        "base",
    ),
    *("revolute", "universal", "planar-spherical", "fixed", "point", "articulated", "screw", "se3", "xy+rz"),
]
LISTS = [[], {}, (), [None], [[]], [{}], ((1, 2, 3),), [1, 2, 3], (0.0, 0.0, 1.0), {"a": {"b": [1]}}, {1: 2}]
ODD_KEYS = [
    "",
    "a",
    "mass",
    "a\nb",
    "\ud800",
    "a" * 300,
    1,
    -1,
    10**5000,
    1.5,
    None,
    True,
    (1, 2),
    b"x",
    Loud("mass"),
]

WRONG = [None, *NUMBERS, *ARRAYS, *OBJECTS, *TEXTS, *LISTS]
# Drawn by number: some of them cannot be written as text.
wrong = st.integers(0, len(WRONG) - 1).map(lambda k: WRONG[k])
keys = st.integers(0, len(ODD_KEYS) - 1).map(lambda k: ODD_KEYS[k])
anything = st.recursive(
    wrong,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
    ),
    max_leaves=8,
)


@many
@given(anything)
def test_anything(data: Any) -> None:
    assert keeps_promise(data) is not None


@pytest.mark.slow
@many
@given(st.dictionaries(st.sampled_from(KEYS), anything, max_size=8))
def test_anything_under_the_right_keys(data: Any) -> None:
    assert keeps_promise(data) is not None


@pytest.mark.slow
@pytest.mark.parametrize("data_of", [in_full, as_written])
@some
@given(data=st.data())
def test_edited_robots(data_of: Callable[[str], Any], data: st.DataObject) -> None:
    robots = st.sampled_from(sorted(NAMES)).map(data_of)
    keeps_promise(data.draw(edited_descriptions(robots, st.one_of(wrong, wrong, anything), lambda _: keys)))


@pytest.mark.parametrize("name", NAMES)
def test_the_data_are_left_as_they_are(name: str) -> None:
    data = copy.deepcopy(in_full(name))
    assert nacelle.build(data).hash == library_robot(name).hash
    assert data == in_full(name)


def test_arrays_and_tuples_are_as_good_as_lists() -> None:
    data = copy.deepcopy(in_full("delta"))
    for path in list(value_paths(data)):
        value = entry(data, path)
        if isinstance(value, list) and all(isinstance(number, float) for number in value):
            kind = (np.array, tuple, list)[len(path) % 3]
            entry(data, path[:-1])[path[-1]] = kind(value)
    assert nacelle.build(data).hash == library_robot("delta").hash


def test_texts_of_subclasses_are_plain_texts() -> None:
    data = copy.deepcopy(in_full("fivebar"))
    hinge = data["platform"]["closures"]["hinge"]
    assert hinge["type"] == "revolute"
    for word in (Word.REVOLUTE, np.str_("revolute"), Loud("revolute")):
        hinge["type"] = word
        assert nacelle.build(data).hash == nacelle.load("fivebar").hash


def test_lists_that_hold_themselves() -> None:
    ring: list[Any] = []
    ring.extend([ring] * 10)
    mapping: dict[str, Any] = {}
    mapping.update({f"k{k}": mapping for k in range(10)})
    wide: Any = 0
    for _ in range(20):
        wide = [wide] * 10
    deep: Any = 0
    for _ in range(20_000):
        deep = [deep]
    for data in (ring, mapping, wide, deep):
        assert keeps_promise(data) is not None
        assert keeps_promise({"name": "a", "legs": data}) is not None
        assert keeps_promise({"name": "a", "constants": {"a": data}}) is not None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"gravity": [0, 0, object()]}, "gravity[2]: object objects cannot be part of a description"),
        ({"platform": {"mass": 1j}}, "platform.mass: complex objects"),
        ({"title": "\ud800"}, "title: the text holds half a character"),
        ({"legs": [{None: 1}]}, "legs[0]: a key must be a plain name"),
        ({1: 2, "1": 3}, "the key '1' is given twice"),
        ({"legs": [{}] * (MAX_NODES + 1)}, "more than"),
        ({"title": "x" * (MAX_BYTES + 1)}, "title: more than"),
        ({"gravity": np.zeros(10**6)}, "gravity: more than"),
        ({"gravity": [0, 0, 10**5000]}, "gravity: the acceleration inf is not finite"),
        (None, "a description is a mapping"),
        ([], "a description is a mapping"),
    ],
)
def test_where_the_fault_is(data: Any, words: str) -> None:
    error = keeps_promise(data)
    assert error is not None
    assert words in str(error)
