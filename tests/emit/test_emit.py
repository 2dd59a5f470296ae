"""Emit: registry, schedule."""

from __future__ import annotations

import pytest

from nacelle.emit import registry
from nacelle.emit.registry import NAMES, Target, TargetError, register, target
from nacelle.emit.schedule import arguments, assign_slots, is_operation, last_uses, live_operations, schedule
from nacelle.program.trace import trace
from support.random_programs import random_program

# ---- Targets by name: they are found when they are first needed, and faults name the nearest


@pytest.mark.parametrize("name", NAMES)
def test_every_target_writes_source(name: str) -> None:
    program = trace(lambda x: {"y": x * x + 1.0}, {"x": (2,)}, "square").program()
    found = target(name)
    assert found.name == name
    assert "square" in found.source(program) or len(found.source(program)) > 50


def test_a_new_target_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_targets", {})
    register(Target("spoken", lambda program: program.name))
    assert target("spoken").kernel is None
    with pytest.raises(TargetError, match="did you mean"):
        target("pyton")


# ---- schedule
#
# Orders respect operands; a place in the work array is never shared by two values that are alive.


@pytest.mark.parametrize("seed", range(20))
def test_orders_and_places(seed: int) -> None:
    program = random_program(seed, 60)
    order = schedule(program)
    place = {k: step for step, k in enumerate(order)}
    assert sorted(order) == live_operations(program)
    for k in order:
        assert all(place[a] < place[k] for a in arguments(program, k) if is_operation(program, a))
    last = last_uses(program, order)
    slots = assign_slots([(step, k) for step, k in enumerate(order)], last)
    # Run in the places alone: what is read is what was written last.
    held: dict[int, int] = {}
    for k in order:
        for a in arguments(program, k):
            assert not is_operation(program, a) or held[slots.slot[a]] == a
        held[slots.slot[k]] = k
    alive = [sum(place[k] <= step <= last[k] for k in order) for step in range(len(order))]
    assert max(alive, default=0) == slots.count == len(held)
