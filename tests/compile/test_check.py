"""A program is checked before it answers: a defect in any stage is caught, and the answer is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compact import configured, efforts, models
from nacelle.compile import cache, compile_function, compile_irk5, specification
from nacelle.compile.check import ROUNDING, InterpretedKernel, evaluate_program, expected_results
from nacelle.compile.refusals import refusal_reason
from nacelle.dynamics import model_functions, reference
from nacelle.elastic.plant import elastic_plant
from nacelle.emit import irk5_steps
from nacelle.emit.irk5 import NumpyIrk5
from nacelle.emit.jit import attempts, vectors
from nacelle.emit.jit import irk5 as jit_irk5
from nacelle.emit.registry import warn_once
from nacelle.emit.store import Store
from nacelle.errors import CompileError, CompilerWarning
from nacelle.kinematics import samples
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.program.program import BINARY, UNARY, Program, Variable
from nacelle.program.split import Split
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.physics import Form, forget_refusals, form_for
from support.compare import assert_same
from support.described import mechanism
from support.last_bits import forget_everything
from support.library import library_robot

Array = np.ndarray


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A cache of its own; no form is refused before and after, and what planted defects have made is gone."""
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path))
    # Failures are remembered by what a program computes, which no planted defect changes.
    monkeypatch.setattr(attempts, "_failures", {})
    forget_refusals()
    forget_everything()
    yield Store()
    forget_refusals()
    forget_everything()


def flipped(program: Program) -> Program:
    """A program with a wrong sign: its last sum is a difference."""
    places = [k for k, (op, *_) in enumerate(program.code) if op == "add"]
    code = list(program.code)
    code[places[-1]] = ("sub", *code[places[-1]][1:])
    return replace(program, code=tuple(code))


def wrong_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pass: of constant and of parametric programs."""
    whole, parts = specification.apply_identities, specification.apply_split_identities
    monkeypatch.setattr(specification, "apply_identities", lambda *given: flipped(whole(*given)))

    def split(*given: Any) -> Split:
        made = parts(*given)
        return Split(made.prologue, flipped(made.body))

    monkeypatch.setattr(specification, "apply_split_identities", split)


def dropped_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the compact form: friction, springs and rotors are forgotten."""
    left = tuple(require for require in models.JOINT_FORCE_TERMS if require is not efforts.add_joint_efforts)
    assert len(left) == len(models.JOINT_FORCE_TERMS) - 1
    monkeypatch.setattr(models, "JOINT_FORCE_TERMS", left)


def wrong_pivot(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the elimination: the solution is off by a thousandth."""
    solved = configured.SolveOrder.solve

    def off(self: Any, *given: Any) -> Any:
        values, pivot = solved(self, *given)
        return np.concatenate([[1.001 * values[0]], values[1:]]), pivot

    monkeypatch.setattr(configured.SolveOrder, "solve", off)


def swapped_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the compact form: forces along the closures of the legs are taken in the wrong order."""
    right = models.propagate_forces

    def wrong(into: Any) -> Any:
        gamma = right(into)
        return dict(zip(gamma, list(gamma.values())[::-1], strict=True))

    monkeypatch.setattr(models, "propagate_forces", wrong)


def wrong_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the emitter: constants are off by a millionth."""
    exact = vectors.constant

    def wrong(value: float) -> str:
        return exact(value if abs(value) in (0.0, 0.5, 1.0, 2.0) else 1.000001 * value)

    monkeypatch.setattr(vectors, "constant", wrong)


def state_of(robot: Robot) -> tuple[Array, ...]:
    x, y = mechanism_of(robot).reference
    n = robot.motion.n
    return x, y, np.linspace(0.4, 0.9, n), np.linspace(-1.0, 2.0, n), np.zeros(n)


def forces(robot: Robot) -> Array:
    return np.asarray(reference.inverse(robot, *state_of(robot))["force"], dtype=float)


DEFECTS = (wrong_sign, dropped_term, wrong_pivot, swapped_closure, wrong_constant)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
@pytest.mark.parametrize("parameters", ["constant", "inertia"])
def test_planted_defects_are_caught(
    defect: Callable[[pytest.MonkeyPatch], None],
    parameters: str,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot = library_robot("3rrr")
    # Without what is planted nothing is said (warnings are errors in tests).
    numbers = () if parameters == "constant" else (robot.numbers.vector(parameters),)
    defect(monkeypatch)
    with pytest.warns(CompilerWarning, match=r"of 3rrr.*(off by|disagrees)"):
        inverse = compile_function(model_functions.inverse, robot, parameters=parameters, cache=store)
    assert_same(inverse(*numbers, *state_of(robot))["force"], forces(robot), 1e-11)


@pytest.mark.slow
def test_the_reason_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that failed is out of use for the robot, in later processes too; ops and show say so."""
    robot = library_robot("3rrr")
    assert not refusal_reason(robot)
    dropped_term(monkeypatch)
    with pytest.warns(CompilerWarning, match="is taken"):
        compile_function(model_functions.inverse, robot, cache=store)
    assert form_for(robot.hash) is Form.TREE
    monkeypatch.undo()
    monkeypatch.setenv("NACELLE_CACHE", str(store.folder))
    warn_once.cache_clear()
    forget_refusals()
    assert form_for(robot.hash) is Form.COMPACT
    from nacelle.compile import refusals

    refusals._load_refusals.cache_clear()
    with pytest.warns(CompilerWarning, match="another form is taken"):
        assert "disagrees" in refusal_reason(robot)
    assert form_for(robot.hash) is Form.TREE
    assert nacelle.operation_count(robot, "inverse_dynamics").form == "tree"


@pytest.mark.costly
@pytest.mark.parametrize("parameters", ["constant", "inertia"])
def test_a_stale_entry_of_the_cache_is_found(
    parameters: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two robots under one key: what the first left there does not answer for the second."""
    first, second = library_robot("fivebar"), heavier("fivebar")
    monkeypatch.setattr(cache, "_key", lambda kind, part, *_: f"{kind} {part}")
    compile_function(model_functions.inverse, first, parameters=parameters, cache=store)
    assert compile_function(model_functions.inverse, first, parameters=parameters, cache=store).from_cache
    with pytest.warns(CompilerWarning, match="compiled anew"):
        inverse = compile_function(model_functions.inverse, second, parameters=parameters, cache=store)
    numbers = () if parameters == "constant" else (second.numbers.vector(parameters),)
    assert_same(inverse(*numbers, *state_of(second))["force"], forces(second), 1e-11)
    assert compile_function(model_functions.inverse, second, parameters=parameters, cache=store).from_cache


def test_what_was_checked_at_random_is_not_taken_for_stale(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs that are no states of a robot mean something else in every form: each is held to its own."""
    monkeypatch.setattr(samples, "_states", lambda *_: None)
    robot = library_robot("3rps")
    first = nacelle.jacobian(robot, nacelle.reference_pose(robot))
    forget_everything()
    again = nacelle.jacobian(robot, nacelle.reference_pose(robot))
    np.testing.assert_array_equal(first.inverse, again.inverse)


def test_robots_with_screws_are_checked_at_states() -> None:
    """Couplings of hundreds of rad/m: shaken joints would leave the branch of the reference."""
    assert samples._states(mechanism("ball_screws").without_rounding_differences, ()) is not None


def heavier(name: str) -> Robot:
    robot = library_robot(name)
    return robot.with_parameters(1.5 * robot.parameter_vector("inertia"), "inertia")


def test_machine_code_of_the_cache_is_run_before_it_answers(store: Store) -> None:
    """An entry whose machine code is that of another program."""
    robot = library_robot("fivebar")
    compile_function(model_functions.inverse, robot, cache=store)
    key = cache._key("function", "program", _specification(robot))
    other = cache._key("function", "program", _specification(heavier("fivebar")))
    compile_function(model_functions.inverse, heavier("fivebar"), cache=store)
    assert key is not None
    assert other is not None
    own, foreign = (cache.unpack_entry(cache._require_payload(store.get(k))) for k in (key, other))
    entry = own._replace(image=foreign.image)
    program = compile_function(model_functions.inverse, robot, cache=store).program
    store.put(key, cache.pack_entry(program, entry.image, entry.check))
    with pytest.warns(CompilerWarning, match="compiled anew"):
        again = compile_function(model_functions.inverse, robot, cache=store)
    assert not again.from_cache
    assert_same(again(*state_of(robot))["force"], forces(robot), 1e-11)


def _specification(robot: Robot) -> specification.Specification:
    shapes = specification.resolve_input_shapes(model_functions.inverse, robot)
    return specification.Specification(model_functions.inverse, robot, shapes)


@pytest.mark.slow
@pytest.mark.parametrize("defect", ["step", "stage", "derivative", "constant"])
def test_defects_of_implicit_steps_are_caught(
    defect: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the loop of Radau IIA or in the machine code of its derivative: NumPy answers instead."""
    plant = elastic_plant(library_robot("prrrp"), friction=False)
    if defect == "step":
        monkeypatch.setattr(irk5_steps, "GAMMA", 1.001 * irk5_steps.GAMMA)
    elif defect == "stage":
        monkeypatch.setattr(irk5_steps, "T_INVERSE", irk5_steps.T_INVERSE * (1.0 + 1e-5))
    elif defect == "derivative":
        right = jit_irk5.make_plan
        monkeypatch.setattr(jit_irk5, "make_plan", lambda program, options: right(flipped(program), options))
    else:
        wrong_constant(monkeypatch)
    with pytest.warns(CompilerWarning, match="disagrees with the physics"):
        driver = compile_irk5(plant.model.flow, plant.robot, options=dict(plant.options), cache=store)
    assert isinstance(driver, NumpyIrk5)


@pytest.mark.parametrize("count", [1, 5])
def test_programs_of_checks_are_run_as_they_are_defined(count: int) -> None:
    """The interpreter of the check, on floats and on arrays, against `Program.evaluate`."""
    x, y = ("input", 0), ("input", 1)
    unary = [(op, 0) for op in UNARY] + [(op, 1) for op in UNARY]
    binary = [(op, i, j) for op in BINARY for i, j in ((0, 1), (1, 0))]
    code = (x, y, ("const", 0.75), *unary, *binary, ("where", 0, 1, 2), ("where", 1, 0, 2))
    size = len(code)
    program = Program("all", (Variable("x", (2,)),), (Variable("y", (size,)),), code, tuple(range(size)))
    rows = np.random.default_rng(2).uniform(0.1, 2.0, (count, 2))
    rows[-1] = 0.0, -1.5
    found = evaluate_program(program, rows)
    out = np.empty((count, size))
    InterpretedKernel(program).run([rows], [out])
    np.testing.assert_array_equal(out, found)
    with np.errstate(all="ignore"):
        expected = [to_samples(np.array(program.evaluate(list(from_samples(row[None], 1))))) for row in rows]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-15)


def test_what_disagrees_in_every_form_is_refused(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    """Nothing answers where even the program as it was traced is wrong."""
    real = specification.trace

    def wrong(call: Any, shapes: Any, name: Any, sample: Any = None) -> Any:
        return real(lambda *arrays: {k: 1.01 * v for k, v in call(*arrays).items()}, shapes, name, sample)

    monkeypatch.setattr(specification, "trace", wrong)
    with pytest.warns(CompilerWarning), pytest.raises(CompileError, match="cannot be trusted"):
        compile_function(model_functions.inertia, library_robot("fivebar"), cache=store)


def test_rounding_times_condition() -> None:
    """What is allowed grows with the condition, and nothing else is allowed."""
    out = [Variable("f", (1,))]
    rows = np.array([[1.0, 2.0], [1.5, 2.5]])

    def steep(row: Array) -> dict[str, Any]:
        return {"f": np.array([1.0 + 1e6 * (row[0] - 1.0)])}

    def flat(row: Array) -> dict[str, Any]:
        return {"f": np.array([row[0] + row[1]])}

    wide, narrow = (
        expected_results(f, rows, out, lambda rows, f=f: np.array([f(row)["f"] for row in rows]))
        for f in (steep, flat)
    )
    # The slope is 1e6 along the first input, whose change is at least half of 1.5.
    assert wide.allowed[0, 0] > ROUNDING * (np.max(np.abs(wide.outputs)) + 0.5e6)
    assert np.all(narrow.allowed < 20.0 * ROUNDING)
    assert not narrow.disagreement_reason(narrow.outputs * (1.0 + 0.01 * ROUNDING), out)
    assert "f is off by" in narrow.disagreement_reason(narrow.outputs * (1.0 + 100.0 * ROUNDING), out)
    lost = np.where(np.arange(2)[:, None] == 0, np.nan, narrow.outputs)
    assert "off by inf" in narrow.disagreement_reason(lost, out)
