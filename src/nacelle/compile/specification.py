"""What determines a program: a physics function, its robot and options; and how it is traced."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from nacelle.compile.check import (
    ROUNDING,
    ProgramCheck,
    evaluate_program,
    expected_results,
    random_rows,
    split_row,
)
from nacelle.compile.compiled import Compiled
from nacelle.compile.refusals import record_refusal, refusal_reason
from nacelle.emit.registry import warn_once
from nacelle.errors import CompileError, NacelleError, did_you_mean
from nacelle.model.numbers import GROUPS
from nacelle.model.robot import Robot
from nacelle.program.identities.merge import apply_identities, apply_split_identities
from nacelle.program.identities.values import PreciseInputs
from nacelle.program.minimise import minimise
from nacelle.program.program import Program, Variable
from nacelle.program.split import Split, join_parts, split, with_parameter_jacobians
from nacelle.program.trace import Trace, named_outputs, trace
from nacelle.progress import task
from nacelle.spatial.physics import (
    Form,
    check_sampler_of,
    form_for,
    has_conventions,
    input_shapes,
    is_independent_of_form,
    sampler_of,
    use_form,
)
from nacelle.spatial.scalar import Array

_T = TypeVar("_T")

# Programs with more results are checked at one state.
_MANY = 40
# How many roundings of the robot's coordinates results may lose: they are products of up to eight lengths.
_COORDINATE_ROUNDINGS = 64.0
# Faster couplings than this do not widen the check further: it must still see a wrong program.
_FASTEST = 1e4


class WithCheck(NamedTuple, Generic[_T]):
    """A program, or its parts, and the check that it has passed; None if it was not to be checked."""

    value: _T
    check: ProgramCheck | None


class PartsWithChecks(NamedTuple):
    """The two parts of a program whose numbers are inputs."""

    prologue: WithCheck[Program]
    body: WithCheck[Program]


@dataclass(frozen=True)
class Specification:
    """A physics function with all that its program depends on.

    Where the function declares how its inputs are drawn (`@sampled`) values that are equal at all samples
    are one.

    Attributes:
        function: called as function(robot, *arrays, **options), or without a robot if that is None.
        robot: the robot.
        shapes: names and shapes of the inputs, "parameters" among them if there are groups.
        groups: groups of the robot's free numbers that are the first input, "parameters".
        derivatives: outputs whose derivatives by the parameters are outputs too.
        minimise: whether the program is minimised.
        options: keyword arguments for the function.
        states: how inputs are drawn at which the program is checked, as for `@sampled`, where the function
            does not declare it; at random if None.
        verify: whether the program is checked against the function.
        reference_states: at how many states of its check the function itself is evaluated, at all of them if
            None; see `expected_results`.
    """

    function: Callable[..., Any]
    robot: Robot | None
    shapes: Mapping[str, tuple[int, ...]]
    _: KW_ONLY
    groups: tuple[str, ...] = ()
    derivatives: tuple[str, ...] = ()
    minimise: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    states: Callable[..., Any] | None = None
    verify: bool = True
    reference_states: int | None = None

    @property
    def name(self) -> str:
        """The name of the program."""
        return getattr(self.function, "__name__", "program")

    @property
    def label(self) -> str:
        """What a user knows the program as."""
        return self.name if self.robot is None else f"{self.name} of {self.robot.name}"

    def program(self) -> Program:
        """Trace the function to a program, and minimise it; the same program on every machine.

        Raises:
            CompileError: if it cannot be traced, or disagrees with the function in every form.
        """
        if self.groups:
            parts = self.split()
            return join_parts(parts.prologue, parts.body)
        return self.program_with_check().value

    def program_with_check(self) -> WithCheck[Program]:
        """The program, and the check that it has passed."""
        robot = self.robot.without_rounding_differences if self.robot is not None else None
        robots = () if robot is None else (robot,)

        def make(minimised: bool) -> tuple[Program, Program]:
            raw = self._trace(lambda *arrays: self.function(*robots, *arrays, **self.options)).program()
            if not minimised:
                return raw, raw
            samples = self._identity_samples
            return (minimise(raw) if samples is None else apply_identities(raw, samples)), raw

        with task(f"tracing and simplifying {self.name}"), _garbage_collection_off():
            return self._first_that_agrees(make, lambda program: program)

    def split(self) -> Split:
        """Trace the function with numbers of the robot as its first input, and split it.

        Raises:
            CompileError: if it cannot be traced, or the robot is another mechanism where its free numbers are
                not what they are, or it disagrees with the function in every form.
        """
        return self.split_with_check().value

    def split_with_check(self) -> WithCheck[Split]:
        """The two parts of a program whose first input are the robot's numbers, and the check of both."""
        assert self.robot is not None
        robot, groups = self.robot.without_rounding_differences, self.groups
        sample = robot.numbers.sample(*groups).tolist()

        def call(numbers: Any, *arrays: Any) -> Any:
            return self.function(robot.with_number_symbols(numbers, *groups), *arrays, **self.options)

        def make(minimised: bool) -> tuple[Split, Program]:
            traced = self._trace(call, sample)
            if self.derivatives:
                try:
                    traced = with_parameter_jacobians(traced, self.derivatives)
                except KeyError as error:
                    raise CompileError(f"{self.name} has {error.args[0]}") from error
            raw = split(traced, minimised=False)
            samples = None if self.derivatives or not minimised else self._identity_samples
            if samples is not None:
                program = apply_split_identities(raw, tuple(sample), samples)
            else:
                program = split(traced) if minimised else raw
            return program, join_parts(raw.prologue, raw.body)

        with task(f"tracing and simplifying {self.name}"), _numbers_as_inputs(robot, groups):
            return self._first_that_agrees(make, lambda parts: join_parts(parts.prologue, parts.body))

    def parts_with_checks(self) -> PartsWithChecks:
        """The two parts, each with a check of its own."""
        parts, check = self.split_with_check()
        if check is None:
            return PartsWithChecks(WithCheck(parts.prologue, None), WithCheck(parts.body, None))
        count = parts.prologue.input_size
        numbers = check.inputs[:, :count]
        prepared = evaluate_program(parts.prologue, numbers)
        first = ProgramCheck(numbers, prepared, ROUNDING * np.max(np.abs(prepared), axis=0) + 0.0 * prepared)
        rows = np.concatenate([prepared, check.inputs[:, count:]], axis=1)
        second = ProgramCheck(rows, check.outputs, check.allowed, numbers)
        return PartsWithChecks(WithCheck(parts.prologue, first), WithCheck(parts.body, second))

    # ---- the check

    def staleness_reason(self, check: ProgramCheck | None, signature: Program) -> str:
        """In what the function, as it is now, differs from a check that was kept; empty where it does not."""
        if check is None or not len(check.inputs):
            return ""
        shapes = tuple(variable.shape for variable in signature.inputs)
        if shapes != tuple(self.shapes.values()):
            return "its inputs are others"
        return check.staleness_reason(self._evaluate_reference, signature.outputs)

    def parts_staleness_reason(self, prologue: Compiled, body: Compiled) -> str:
        """The same for the two parts of a program, as they run."""
        check = body.check
        if check is None or check.numbers is None:
            return ""
        if prologue.inputs["parameters"] != self.shapes["parameters"]:
            return "its inputs are others"
        numbers, prepared = check.numbers[:1], prologue.evaluate_rows(check.numbers[:1])
        count = prepared.shape[1]
        expected = check.inputs[:1, :count]
        if expected.shape != prepared.shape or np.max(
            np.abs(prepared - expected), initial=0.0
        ) > ROUNDING * np.max(np.abs(expected), initial=0.0):
            return "its parts belong to different programs"
        rows = np.concatenate([numbers, check.inputs[:1, count:]], axis=1)
        whole = ProgramCheck(rows, check.outputs[:1], check.allowed[:1])
        outputs = [Variable(name, shape) for name, shape in body.outputs.items()]
        return whole.staleness_reason(self._evaluate_reference, outputs)

    def _evaluate_reference(self, row: Array) -> dict[str, Any]:
        """The function at a row, in the form that programs are compared with; at random ones in its own."""
        fixed = self.shapes["parameters"][0] if self.groups else 0
        at_random = np.array_equal(row[fixed:], random_rows(self.shapes)[0, fixed:])
        return self.evaluate(row, form=None if at_random else self._check_form)

    def _first_that_agrees(
        self, make: Callable[[bool], tuple[_T, Program]], whole: Callable[[_T], Program]
    ) -> WithCheck[_T]:
        """The program in the first form that agrees with the function by the tree, and the check.

        Args:
            make: traces, and minimises if that is wanted: what is made, and the program as it was traced.
            whole: what is made as one program.
        """
        if not self.verify:
            return WithCheck(make(self.minimise)[0], None)
        forms = self._forms()
        for k, (form, minimised) in enumerate(forms):
            is_last = k == len(forms) - 1
            try:
                with use_form(form):
                    result, raw = make(minimised)
                    program = whole(result)
                    check = self._check(program, raw)
                reason = check.disagreement_reason(evaluate_program(program, check.inputs), program.outputs)
            except NacelleError:
                raise
            except Exception as error:
                if is_last or form is Form.TREE:
                    raise
                reason = f"{form.value} failed ({type(error).__name__}: {error})"
            else:
                if not reason:
                    return WithCheck(result, check)
                reason = f"{form.value} disagrees with the physics ({reason})"
            if not is_last:
                then = forms[k + 1][0].value if forms[k + 1][1] else f"{form.value}, not minimised,"
                self._refuse(form, reason)
                warn_once(f"{self.label}: {reason}; {then} is taken")
        raise CompileError(f"{self.label} cannot be trusted: {reason}")

    def _forms(self) -> list[tuple[Form, bool]]:
        """Forms in which the program is tried, and whether it is minimised."""
        if self.robot is not None:
            refusal_reason(self.robot.without_rounding_differences)
        first = Form.TREE if self.robot is None else form_for(self.robot.without_rounding_differences.hash)
        forms = list(Form)
        tried = [(form, self.minimise) for form in forms[forms.index(first) :]]
        return [*tried, (Form.TREE, False)] if self.minimise else tried

    def _refuse(self, form: Form, reason: str) -> None:
        """Take a form out of use for the robot."""
        if self.robot is None:
            return
        alike = self.robot.without_rounding_differences
        sample = (alike.at_sample(*self.groups),) if self.groups else ()
        record_refusal(self.robot, (alike, *sample), form, reason)

    @cached_property
    def _samples(self) -> PreciseInputs | None:
        """Samples of the check, declared by the function or by whoever compiles it; None without any."""
        return self._draw_samples(check_sampler_of(self.function) or self.states)

    @cached_property
    def _identity_samples(self) -> PreciseInputs | None:
        """Samples at which values that are equal are to be one; None without any."""
        sampler = sampler_of(self.function)
        same = sampler is not None and sampler is check_sampler_of(self.function)
        return self._samples if same else self._draw_samples(sampler)

    def _draw_samples(self, sampler: Callable[..., Any] | None) -> PreciseInputs | None:
        if sampler is None:
            return None
        robot = None if self.robot is None else self.robot.without_rounding_differences
        samples: PreciseInputs | None = sampler(robot, self.shapes, *((self.groups,) if self.groups else ()))
        return samples

    def _check(self, program: Program, raw: Program) -> ProgramCheck:
        """What the program must give at states, in the form that it is written in."""
        # Linear forms take long on floats, and have many entries at one state.
        rows = self._rows()[: 1 if len(program.results) > _MANY else None]
        fixed = self.shapes["parameters"][0] if self.groups else 0
        form = self._check_form
        return expected_results(
            partial(self.evaluate, form=None if self._samples is None else form),
            rows,
            program.outputs,
            lambda rows: evaluate_program(raw, rows),
            rounding=self._rounding,
            fixed=fixed,
            at_random=self._samples is None,
            may_refuse=self._samples is None or check_sampler_of(self.function) is None,
            reference_states=self.reference_states,
        )

    @property
    def _rounding(self) -> float:
        """By what part of the largest results may differ.

        Robots far from the origin lose digits there, and those with screws where accelerations of fast
        joints cancel (a hexapod on ball screws: the tree loses 1e-11, the compact form 1e-14).
        """
        if self.robot is None:
            return ROUNDING
        robot = self.robot.without_rounding_differences
        fast = min(robot.fastest_coupling, _FASTEST)
        return max(ROUNDING * fast, _COORDINATE_ROUNDINGS * robot.coordinate_rounding)

    @property
    def _check_form(self) -> Form | None:
        """The form that programs are compared with; None for their own.

        Inputs that belong to no state of the robot mean something else in every form.
        """
        has_states = check_sampler_of(self.function) is not None or self.states is not None
        alike = self.robot is not None and is_independent_of_form(
            self.function, self.robot.without_rounding_differences
        )
        return Form.TREE if has_states and alike else None

    def _rows(self) -> Array:
        """Inputs (K, size) of the check; of one robot where numbers are inputs."""
        if self._samples is not None:
            samples = self._samples
            return np.array([[float(value) for value in row] for row in samples.check])
        rows = random_rows(self.shapes)
        if self.groups:
            assert self.robot is not None
            numbers = self.robot.without_rounding_differences.numbers.sample(*self.groups, seed=1)
            rows[:, : len(numbers)] = numbers
        return rows

    def evaluate(self, row: Array, form: Form | None = Form.TREE) -> dict[str, Any]:
        """The outputs of the function as it is written, on floats, at a row (size,) of all inputs.

        Args:
            row: the inputs.
            form: in which it is evaluated; None for the one that is in use.
        """
        robot, shapes = (
            None if self.robot is None else self.robot.without_rounding_differences,
            dict(self.shapes),
        )
        arrays = list(split_row(row, shapes))
        if self.groups:
            assert robot is not None
            numbers = arrays.pop(0)
            if has_conventions(self.function):
                robot = robot.with_number_symbols(numbers, *self.groups)
            else:
                robot = robot.with_numbers(numbers, *self.groups)
        robots = () if robot is None else (robot,)
        with nullcontext() if form is None else use_form(form):
            return dict(named_outputs(self.function(*robots, *arrays, **self.options)))

    def _trace(self, call: Callable[..., Any], sample: Sequence[float] | None = None) -> Trace:
        try:
            return trace(call, self.shapes, self.name, sample)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise CompileError(f"{self.name} cannot be traced: {error}") from error


@contextmanager
def _numbers_as_inputs(robot: Robot, groups: tuple[str, ...]) -> Iterator[None]:
    """Within this, a robot that is no mechanism where its free numbers move is an error that says so."""
    try:
        yield
    except CompileError:
        raise
    except NacelleError as error:
        raise CompileError(
            f"{robot.name} cannot have its numbers ({', '.join(groups)}) as inputs: with numbers near those "
            f"described {error}; numbers that must be equal are to be one constant of the description, and "
            "those that must stay as they are can be left out of the groups"
        ) from error


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """No garbage collections meanwhile: tracing makes very many small objects, and no cycles of them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def make_program(
    function: Callable[..., Any],
    robot: Robot | None,
    shapes: Mapping[str, tuple[int, ...]],
    **options: Any,
) -> Program:
    """The program of a physics function; arguments as in `Specification`."""
    return Specification(function, robot, shapes, **options).program()


def parameter_groups(parameters: str | Sequence[str]) -> tuple[str, ...]:
    """The groups of numbers that `parameters` of `compile_function` names."""
    if parameters == "constant":
        return ()
    if parameters == "input":
        return GROUPS
    groups = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for group in groups:
        if group not in GROUPS:
            names = ["constant", "input", *GROUPS]
            raise CompileError(f"parameters={group!r}; {did_you_mean(group, names)}")
    return groups


def resolve_input_shapes(
    function: Callable[..., Any],
    robot: Robot | None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    groups: tuple[str, ...] = (),
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a function's inputs, declared or given, "parameters" first if there are groups.

    Where the geometry is an input, declared shapes are those of the sample at which programs are decided:
    legs whose axes meet by accident have a closed form only as they are, and unknowns once numbers move.
    """
    shapes = dict(inputs) if inputs is not None else input_shapes(function, robot)
    if shapes is None:
        raise CompileError(
            f"{getattr(function, '__name__', function)!r} does not declare its inputs: decorate it with "
            "@physics(name=shape, ...) or give inputs={name: shape}"
        )
    if not groups:
        return shapes
    if robot is None:
        raise CompileError("parameters as inputs need a robot")
    if "geometry" in groups:
        sample = robot.without_rounding_differences.at_sample(*groups)
        with _numbers_as_inputs(robot, groups):
            declared, sampled = input_shapes(function, robot) or {}, input_shapes(function, sample) or {}
        shapes = {k: sampled[k] if shape == declared.get(k) else shape for k, shape in shapes.items()}
    return {"parameters": (len(robot.numbers.names(*groups)),), **shapes}
