"""Designs: what makes each of them one, and parts that are the whole's, byte for byte."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.errors import StudyError
from nacelle.spatial.scalar import Array
from nacelle.studies.designs import grid, latin_hypercube, random_points, saltelli, sobol

Design = Callable[..., Array]
SEEDED = [random_points, latin_hypercube, sobol]


def test_a_grid_holds_all_combinations_the_last_variable_fastest() -> None:
    axes = [[0.0, 0.5, 1.0], [0.5], [0.0, 1.0]]
    assert grid([3, 1, 2]).tolist() == [list(point) for point in itertools.product(*axes)]


def test_rows_of_a_grid_that_fits_into_no_memory() -> None:
    last = grid([10] * 15, range(10**15 - 2, 10**15))
    assert last.tolist() == [[1.0] * 14 + [8 / 9], [1.0] * 15]


@given(st.integers(1, 70), st.integers(1, 5), st.integers(0, 2**32), st.data())
def test_parts_are_those_of_the_whole(count: int, P: int, seed: int, data: st.DataObject) -> None:
    def part(size: int) -> range:
        stop = data.draw(st.integers(0, size))
        return range(data.draw(st.integers(0, stop)), stop)

    for design in SEEDED:
        rows = part(count)
        whole = design(count, P, seed)
        assert design(count, P, seed, rows).tobytes() == whole[rows.start : rows.stop].tobytes()
        assert whole.shape == (count, P)
        assert np.all((whole >= 0.0) & (whole <= 1.0))
    levels = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    rows = part(int(np.prod(levels)))
    assert np.array_equal(grid(levels, rows), grid(levels)[rows.start : rows.stop])
    mixed = saltelli(count, P, seed)
    rows = part(len(mixed))
    assert mixed.points(rows).tobytes() == mixed.points()[rows.start : rows.stop].tobytes()


@pytest.mark.parametrize("design", SEEDED)
def test_seeds(design: Design) -> None:
    assert np.array_equal(design(32, 3, 5), design(32, 3, 5))
    assert not np.any(design(32, 3, 5) == design(32, 3, 6))


def test_random_points_are_one_stream() -> None:
    stream = np.random.Generator(np.random.PCG64(8)).random((50, 3))
    assert np.array_equal(random_points(50, 3, 8), stream)
    assert np.array_equal(random_points(20, 3, 8), stream[:20])


def test_latin_hypercubes_have_a_point_in_every_interval() -> None:
    points = latin_hypercube(101, 4, 3)
    intervals = np.floor(101 * points).astype(int)
    assert np.array_equal(np.sort(intervals, axis=0), np.tile(np.arange(101)[:, None], 4))
    assert not np.array_equal(intervals[:, 0], intervals[:, 1])


def test_sobol_points_are_balanced() -> None:
    """Of 2^6 points each of the 2^6 boxes 2^-a times 2^-b, a + b = 6, of two first dimensions holds one."""
    points = sobol(64, 2, 4)
    for a in range(7):
        box = np.floor(points * [2**a, 2 ** (6 - a)]) @ [2 ** (6 - a), 1]
        assert np.array_equal(np.sort(box), np.arange(64))
    assert np.array_equal(sobol(37, 2, 4), points[:37])


@pytest.mark.filterwarnings("error")
def test_other_numbers_of_sobol_points_than_powers_of_two_pass_without_a_warning() -> None:
    assert sobol(37, 2, 4).shape == (37, 2)


def test_saltelli_exchanges_columns() -> None:
    design = saltelli(16, 3, 1)
    A, B = design.A, design.B
    assert not np.any(A == B)
    expected = [A, B]
    for k in range(3):
        columns = [B[:, j] if j == k else A[:, j] for j in range(3)]
        expected.append(np.stack(columns, axis=1))
        assert np.array_equal(design.AB(k), expected[-1])
    assert np.array_equal(design.points(), np.concatenate(expected))
    assert len(design) == 5 * 16


@pytest.mark.parametrize("rows", [range(0, 9), range(-1, 3), range(0, 8, 2), range(5, 3)])
def test_rows_that_no_design_has(rows: range) -> None:
    with pytest.raises(StudyError, match=r"design with 8 points: range\(0, 8\) are all"):
        sobol(8, 2, 0, rows)
    with pytest.raises(StudyError, match="0 points"):
        random_points(0, 2, 0)
