"""The report of a comparison: agreement of every quantity with every engine, and the worst state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nacelle.pictures import Drawn
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class Quantity:
    """How well one quantity agrees.

    Attributes:
        name: of the quantity.
        error: largest relative error over the states: largest difference over the largest entry.
        tolerance: what is allowed.
        state: number of the state with the largest error.
    """

    name: str
    error: float
    tolerance: float
    state: int

    @property
    def ok(self) -> bool:
        """Whether it agrees; an error that is no number does not."""
        return bool(self.error <= self.tolerance)


@dataclass(frozen=True)
class EngineReport:
    """The agreement with one engine.

    Attributes:
        engine: its name.
        version: its version.
        quantities: what was compared.
        notes: what was left out, and why.
    """

    engine: str
    version: str
    quantities: tuple[Quantity, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return all(quantity.ok for quantity in self.quantities)

    def __getitem__(self, name: str) -> Quantity:
        """A quantity by name."""
        return {quantity.name: quantity for quantity in self.quantities}[name]


@dataclass(frozen=True, eq=False)
class WorstState:
    """The state where the agreement is worst, measured by what is allowed.

    Attributes:
        engine: the engine.
        quantity: the quantity.
        number: of the state.
        x: reduced pose.
        v: reduced twist.
        a: its derivative.
        condition: condition number of the scaled Jacobian.
    """

    engine: str
    quantity: str
    number: int
    x: Array
    v: Array
    a: Array
    condition: float


@dataclass(frozen=True, eq=False)
class Report(Drawn):
    """What other engines say of a robot.

    Attributes:
        robot: name of the robot.
        hash: of the robot.
        states: number of states compared.
        seed: of the states.
        rejected: how many poses were left out, by reason.
        engines: the agreement with every engine.
        worst: the state where it is worst.
        condition: the largest condition number of the scaled Jacobian.
    """

    robot: str
    hash: str
    states: int
    seed: int
    rejected: dict[str, int]
    engines: tuple[EngineReport, ...]
    worst: WorstState
    condition: float

    @property
    def ok(self) -> bool:
        """Whether everything agrees with every engine."""
        return all(engine.ok for engine in self.engines)

    def __getitem__(self, engine: str) -> EngineReport:
        """The agreement with an engine by name."""
        return {report.engine: report for report in self.engines}[engine]

    def text(self) -> str:
        """The report for a terminal."""
        left = ", ".join(f"{count} {reason}" for reason, count in self.rejected.items()) or "none"
        lines = [
            f"{self.robot}  {self.hash[:16]}",
            f"{self.states} states (seed {self.seed}), scaled condition up to {self.condition:.3g}; "
            f"poses left out: {left}",
            "",
        ]
        names = list(dict.fromkeys(q.name for engine in self.engines for q in engine.quantities))
        wide = max(map(len, names))
        heads = [f"{engine.engine} {engine.version}" for engine in self.engines]
        lines.append(f"{'largest relative error':{wide}}  {'allowed':>8}" + _cells(heads))
        for name in names:
            listed = [_find(engine, name) for engine in self.engines]
            allowed = next(q.tolerance for q in listed if q is not None)
            cells = ["-" if q is None else f"{q.error:.1e}{'' if q.ok else ' FAILS'}" for q in listed]
            lines.append(f"{name:{wide}}  {allowed:>8.0e}" + _cells(cells))
        worst = self.worst
        lines += [
            "",
            f"worst: {worst.quantity} with {worst.engine} in state {worst.number}, "
            f"scaled condition {worst.condition:.3g}",
            *(
                f"  {name} = {_vector(value)}"
                for name, value in (("x", worst.x), ("v", worst.v), ("a", worst.a))
            ),
        ]
        for engine in self.engines:
            lines += [f"{engine.engine}: {note}" for note in engine.notes]
        lines.append("agrees" if self.ok else "DOES NOT AGREE")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for `--json`."""
        worst = self.worst
        motion = {name: getattr(worst, name).tolist() for name in ("x", "v", "a")}
        return {
            **vars(self),
            "ok": self.ok,
            "engines": [
                {
                    **vars(engine),
                    "ok": engine.ok,
                    "quantities": [
                        {**vars(q), "error": q.error if math.isfinite(q.error) else None, "ok": q.ok}
                        for q in engine.quantities
                    ],
                    "notes": list(engine.notes),
                }
                for engine in self.engines
            ],
            "worst": {
                "engine": worst.engine,
                "quantity": worst.quantity,
                "state": worst.number,
                **motion,
                "condition": worst.condition,
            },
        }


def _find(engine: EngineReport, name: str) -> Quantity | None:
    return next((q for q in engine.quantities if q.name == name), None)


def _cells(texts: list[str]) -> str:
    return "".join(f"  {text:>18}" for text in texts)


def _vector(values: Array) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"
