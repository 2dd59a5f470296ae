"""The free numbers of a robot: what may be given at run time, by groups.

They are those that its description declares (`nacelle.model.build.declared`). Where a robot has been
changed since, so that a number is not what the description makes of it (another payload, another vector of
parameters), the number itself is free, unless it is 0 or belongs to a rotation.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import ParameterError
from nacelle.model.data import RobotData
from nacelle.model.numbers.parameters import GROUPS, ParameterLayout
from nacelle.model.record import Record, nearby
from nacelle.program.program import Program, Variable
from nacelle.program.trace import Trace, graph_of, linear
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Numbers:
    """The free numbers of a robot.

    Attributes:
        robot: the robot.
        parameters: the names of all its numbers.
        record: names, groups and values of the numbers, and the program from them to all numbers of the
            robot.
    """

    robot: RobotData
    parameters: ParameterLayout
    record: Record

    def names(self, *groups: str) -> tuple[str, ...]:
        """Names of the free numbers of some groups, or of all of them."""
        return tuple(self.record.names[k] for k in self.chosen(groups))

    def vector(self, *groups: str) -> Array:
        """The free numbers (k,) of some groups, or all of them, in SI units."""
        return np.array([self.record.values[k] for k in self.chosen(groups)], dtype=float)

    def sample(self, *groups: str, seed: int | None = None) -> Array:
        """Random numbers near these, 1 to 3 % away, always the same: what holds for them holds for others.

        Args:
            groups: whose numbers.
            seed: gives others.
        """
        vector = self.vector(*groups)
        return np.asarray(nearby(vector) if seed is None else nearby(vector, seed))

    def chosen(self, groups: tuple[str, ...]) -> list[int]:
        """Places of the numbers of some groups, in the order of the groups."""
        order = self.parameters.chosen(groups)
        return [k for group in order for k, own in enumerate(self.record.groups) if own == group]

    def entries(self, vector: Any, *groups: str) -> list[Any]:
        """All numbers of the robot with other scalars for the free ones of some groups; floats, symbols, ...

        Args:
            vector: floats, traced symbols or other scalars.
            groups: what is given; the numbers of other groups stay.
        """
        places = self.chosen(groups)
        given = np.asarray(vector, dtype=object)
        if given.shape != (len(places),):
            raise ParameterError(
                f"the vector has shape {given.shape}, the free numbers of {self.robot.name} "
                f"({', '.join(self.parameters.chosen(groups))}) are {len(places)}"
            )
        scalars: list[Any] = list(self.record.values)
        for k, value in zip(places, given.tolist(), strict=True):
            scalars[k] = value
        made = self.record.program.evaluate(scalars)
        # What does not depend on the numbers given stays as it is, in its last bit too.
        moving = self._moving(places)
        own = self.parameters.entries(self.robot)
        return [made[k] if k in moving else value for k, value in enumerate(own)]

    def changed(self, vector: Any, *groups: str) -> tuple[Array, Record]:
        """All numbers of the robot and the record, with other values for the free ones of some groups.

        Raises:
            ParameterError: if the vector has the wrong length or is not finite.
        """
        values = np.asarray(vector, dtype=float)
        entries = np.array(self.entries(values, *groups), dtype=float)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise ParameterError(f"{self.names(*groups)[int(bad[0])]} is not finite: {values[bad[0]]}")
        whole = list(self.record.values)
        for k, value in zip(self.chosen(groups), values.tolist(), strict=True):
            whole[k] = value
        return entries, dataclasses.replace(self.record, values=tuple(whole))

    def jacobian_program(self, *groups: str) -> Program:
        """The derivatives (entries, numbers) of all numbers of the robot by the free ones of some groups."""
        from nacelle.program.derivative import with_jacobians

        program = self.record.program
        graph, roots = graph_of(program)
        whole = with_jacobians(
            Trace("numbers", graph, program.inputs, program.outputs, roots),
            [("entries", "numbers")],
            "forward",
        )
        rows, columns = whole.outputs[1].shape
        places = self.chosen(groups)
        flat = whole.roots[rows:]
        kept = [flat[i * columns + k] for i in range(rows) for k in places]
        outputs = (Variable("jacobian", (rows, len(places))),)
        return linear("numbers_jacobian", graph, program.inputs, outputs, kept)

    def jacobian(self, *groups: str) -> Array:
        """The derivatives (entries, numbers), at the robot's numbers."""
        values = self.jacobian_program(*groups).evaluate(list(self.record.values))
        return np.array(values, dtype=float).reshape(len(self.record.entries), -1)

    def _moving(self, places: list[int]) -> set[int]:
        """Numbers of the robot that depend on some of the free ones."""
        chosen, moves = set(places), []
        for op, *operands in self.record.program.code:
            if op in ("const", "input"):
                moves.append(op == "input" and operands[0] in chosen)
            else:
                moves.append(any(moves[k] for k in operands))
        return {place for place, k in enumerate(self.record.program.results) if moves[k]}


def numbers_of(robot: RobotData, parameters: ParameterLayout) -> Numbers:
    """The free numbers of a robot."""
    own, names = parameters.read(robot).tolist(), parameters.names()
    record = None if robot.declaration is None else robot.declaration.record
    described: dict[str, tuple[float, int]] = {}
    if record is not None:
        made = record.program.evaluate(list(record.values))
        described = {name: (float(made[k]), k) for k, name in enumerate(record.entries)}
        if record.entries == names and all(
            _same(described[name][0], value) for name, value in zip(names, own, strict=True)
        ):
            return Numbers(robot, parameters, record)
    return Numbers(robot, parameters, _completed(parameters, own, record, described))


def _completed(
    parameters: ParameterLayout,
    values: list[float],
    record: Record | None,
    described: dict[str, tuple[float, int]],
) -> Record:
    """A record in which numbers that the description does not make are free themselves."""
    empty = Program("numbers", (Variable("numbers", (0,)),), (), (), ())
    graph, roots = graph_of(record.program if record is not None else empty)
    free = [] if record is None else list(zip(record.names, record.groups, record.values, strict=True))
    results = []
    own = iter(values)
    for group in GROUPS:
        for name in parameters.names(group):
            value, (made, k) = next(own), described.get(name, (0.0, -1))
            if k >= 0 and _same(made, value):
                results.append(roots[k])
            elif value == 0.0 or (group == "geometry" and name.rpartition(".")[2].startswith("R")):
                results.append(graph.const(value))
            else:
                results.append(graph.input(len(free)))
                free.append((name, group, value))
    inputs = (Variable("numbers", (len(free),)),)
    outputs = (Variable("entries", (len(results),)),)
    program = linear("numbers", graph, inputs, outputs, results)
    return Record(
        tuple(name for name, _, _ in free),
        tuple(group for _, group, _ in free),
        tuple(value for _, _, value in free),
        parameters.names(),
        program,
    )


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b)) + 1e-15
