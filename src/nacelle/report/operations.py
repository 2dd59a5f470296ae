"""Counting the operations of a model, by class and by stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from rich.markup import escape

from nacelle.compile import make_program, refusal_reason
from nacelle.dynamics import reference
from nacelle.dynamics.models import Model, model
from nacelle.elastic.named import ELASTIC_NAMES, elastic_model
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.program.cost import Count, count
from nacelle.report.published import PublishedCount, published_counts
from nacelle.report.table import Part, plain_table
from nacelle.results import Plottable
from nacelle.spatial.physics import input_shapes, reason_for_tree


@dataclass(frozen=True)
class StageCount:
    """Operations of a part of a model: +/- and x/÷."""

    name: str
    add: int
    mul: int


@dataclass(frozen=True)
class Operations(Plottable):
    """Operations of a model of a robot.

    Attributes:
        robot: name of the robot.
        model: name of the model.
        input: what it takes: "pose", "elements" or "encoders".
        friction: whether friction counts.
        form: "compact" or "tree".
        reason: why the compact form was not taken; empty where it was, or is not asked for.
        count: by class.
        stages: by stage; empty where the form has none.
        inputs: names and shapes of the inputs.
        includes: what the count includes.
        published_counts: what others have published.
        iteration: operations of one iteration (a step of Newton's method) that finds y, where legs have no
            closed form; they are not in the count, and come once for every iteration. None without y.
    """

    robot: str
    model: str
    input: str
    friction: bool
    form: str
    count: Count
    stages: tuple[StageCount, ...]
    inputs: dict[str, tuple[int, ...]]
    includes: str
    published_counts: tuple[PublishedCount, ...]
    iteration: Count | None = None
    reason: str = ""

    @property
    def total(self) -> int:
        """Additions, subtractions, products and quotients."""
        return self.count.total

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "robot": self.robot,
            "model": self.model,
            "input": self.input,
            "friction": self.friction,
            "form": self.form,
            "reason": self.reason,
            "total": self.count.total,
            **asdict(self.count),
            "stages": [asdict(stage) for stage in self.stages],
            "inputs": {name: list(shape) for name, shape in self.inputs.items()},
            "includes": self.includes,
            "per_iteration": None
            if self.iteration is None
            else {"total": self.iteration.total, **asdict(self.iteration)},
            "published": [
                {"total": entry.total, "source": entry.source, "contains": entry.content}
                for entry in self.published_counts
            ],
        }


def operation_count(
    robot: Robot, name: str = "inverse_dynamics", *, input: str = "pose", friction: bool = False
) -> Operations:
    """Count the operations of a model in its compact form.

    Args:
        robot: the robot.
        name: of the model (`nacelle.dynamics.models.NAMES`, `nacelle.elastic.named.ELASTIC_NAMES`).
        input: "pose", "elements" or "encoders".
        friction: whether friction counts.

    Raises:
        KinematicsError: if there is no such model of this robot.
    """
    if name in ELASTIC_NAMES:
        counted = elastic_model(robot, name, friction=friction)
    else:
        counted = model(robot, name, input=input, friction=friction)
    total = _model_count(counted, friction)
    includes, iteration = counted.includes, None
    if name not in ELASTIC_NAMES and counted.inputs.get("y", (0,)) != (0,):
        shapes = input_shapes(loop_closing_step, robot)
        assert shapes is not None
        iteration = count(make_program(loop_closing_step, robot, shapes))
        includes += "; y is given, its iteration is counted separately"
    by_tree = reason = ""
    if name not in ELASTIC_NAMES and counted.form == "compact":
        function = reference.regressor if name.endswith("regressor") else reference.inverse
        by_tree = reason_for_tree(function, counted.robot)
        reason = by_tree or refusal_reason(counted.robot)
    return Operations(
        robot=robot.name,
        model=name,
        input=input,
        friction=friction,
        form="tree" if by_tree else counted.form,
        count=total,
        stages=_stage_counts(counted, total),
        inputs=dict(counted.inputs),
        includes=includes,
        published_counts=published_counts(robot.name, name, input),
        iteration=iteration,
        reason=reason,
    )


def _model_count(counted: Model, friction: bool) -> Count:
    """Operations of a model with or without friction."""
    options = dict(counted.options)
    if "physics" in options:
        options["physics"] = replace(options["physics"], friction=friction)
    return _program_count(
        counted.function, counted.robot, tuple(counted.inputs.items()), tuple(options.items())
    )


@lru_cache(maxsize=32)
def _program_count(
    function: Callable[..., Any],
    robot: Robot,
    inputs: tuple[tuple[str, tuple[int, ...]], ...],
    options: tuple[tuple[str, Any], ...],
) -> Count:
    """Operations of a minimised program: making it takes seconds, and stages need one of them twice."""
    return count(make_program(function, robot, dict(inputs), options=dict(options)))


def _stage_counts(counted: Model, total: Count) -> tuple[StageCount, ...]:
    """The motion of a rigid robot, and what friction adds: by difference, each minimised."""
    if not ("physics" in counted.options and counted.options["physics"].friction):
        return ()
    without = _model_count(counted, False)
    return (
        StageCount("rigid", without.add, without.mul),
        StageCount("friction", total.add - without.add, total.mul - without.mul),
    )


def operation_parts(operations: Operations) -> list[Part]:
    """What a model takes, contains and costs, by stages, and what others have published."""
    with_friction = "with friction" if operations.friction else "without friction"
    shapes = ", ".join(f"{name} {list(shape)}" for name, shape in operations.inputs.items())
    forms = {
        "compact": "the compact form",
        "lengths": "links condensed at their ends, lengths as coordinates",
        "condensed": "links condensed at their ends",
    }
    form = forms.get(operations.form, "the equivalent tree")
    if operations.reason:
        form += f"; not the compact form, because {operations.reason}"
    parts: list[Part] = [
        f"{operations.robot}: {operations.model}, {with_friction}, from {operations.input}",
        f"  inputs    {shapes}",
        f"  contains  {operations.includes} ({form})",
        f"  {operations.count}",
    ]
    if operations.iteration is not None:
        parts.append(
            f"  and per iteration {operations.iteration}\n  (a Newton step for y, the joints of legs without "
            "a closed-form solution; the number of iterations depends on the initial guess)"
        )
    theirs = {
        name: f"{add} + {mul} = {add + mul}"
        for o in operations.published_counts
        for name, add, mul in o.stages
    }
    if operations.stages:
        columns = [f"published ({operations.published_counts[0].source})"] if theirs else []
        table = plain_table("stage", "+/->", "×/÷>", "total>", *map(escape, columns))
        for stage in operations.stages:
            numbers = (str(stage.add), str(stage.mul), str(stage.add + stage.mul))
            table.add_row(stage.name, *numbers, *([theirs[stage.name]] if theirs else []))
        parts += [table, "  Friction is the difference between the minimised programs with and without it."]
    return [
        *parts,
        *(
            f"  published {entry.total}: {entry.source}; {entry.content}"
            for entry in operations.published_counts
        ),
    ]
