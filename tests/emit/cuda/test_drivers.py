"""Columns of drivers."""

from __future__ import annotations

from nacelle.emit.cuda.drivers import SampleNumbers, ScratchColumns, driver_plan, reads_of
from nacelle.emit.cuda.plan import CudaOptions
from support.driver_programs import pendulum


def test_columns_are_taken_in_turn() -> None:
    frame = ScratchColumns(CudaOptions(), 2, common=3)
    room = frame.room
    assert room == (227 * 1024 // 2 - 1024 - 128) // 1024
    first, second = frame.take(4), frame.take(2)
    assert (first, second) == (0, 4096)
    assert frame.at(second, 1) == "own + 5120"
    assert frame.room == room - 6
    assert frame.bytes == 128 + 6 * 1024


def test_numbers_that_are_read_most_come_first() -> None:
    frame = ScratchColumns(CudaOptions(), 3)
    frame.take(frame.room - 2)
    numbers = SampleNumbers(frame, ["a", "b", "c", "d"], [1, 5, 0, 3])
    assert frame.scratch == 2
    loads = [numbers.load(k) for k in range(4)]
    assert [text.split("(")[0] for text in loads] == ["nc_fetch", "nc_load", "nc_fetch", "nc_load"]
    assert len(numbers.fill()) == 4


def test_reads_of_an_input() -> None:
    plan = driver_plan(pendulum(), CudaOptions(), 9)
    assert reads_of(plan, 3, 2) == [1, 1]
    assert plan.states == 1
