"""The shape of a study as it is written; quantities that depend on the robot are read with it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from nacelle.control.scenario.spec import REFERENCE, LoadSpec, PathSpec, PoseSpec
from nacelle.model.description.fields import Strict, fault

Count = Annotated[int, Field(ge=1)]
SAMPLERS = ("grid", "latin-hypercube", "sobol", "monte-carlo", "sensitivity")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list)]


class VariableSpec(Strict):
    """A variable: a range, values, or deviations from the numbers as described."""

    numbers: Names = ()
    low: Any = Field(None, alias="from")
    high: Any = Field(None, alias="to")
    scale: Literal["linear", "log"] = "linear"
    values: tuple[Any, ...] = ()
    normal: Any = None
    uniform: Any = None
    each: bool = False
    points: Annotated[int, Field(ge=2)] = 2

    @model_validator(mode="after")
    def _check_choice(self) -> VariableSpec:
        if (self.low is None) != (self.high is None):
            raise fault("a range has two ends", "write {from: 400 mm, to: 600 mm}")
        kinds = [self.low is not None, bool(self.values), self.normal is not None, self.uniform is not None]
        if sum(kinds) != 1:
            raise fault(
                "a variable has one of from and to, values, normal, uniform",
                "write {from: 400 mm, to: 600 mm}, or {normal: 0.1 mm} for deviations",
            )
        return self


class MotionSpec(PathSpec):
    """A motion, and at how many times it is looked at, evenly over its duration."""

    samples: Annotated[int, Field(ge=2)] = 100


class RegionSpec(Strict):
    """A grid of poses."""

    over: Annotated[dict[str, tuple[Any, Any] | tuple[Any, Any, int]], Field(min_length=1, max_length=3)]
    at: PoseSpec = REFERENCE


_EVERYWHERE = ("motion", "region")
# What entries the kinds of quantities take.
KINDS: dict[str, tuple[str, ...]] = {
    "peak force": ("motion", "drive", "relative"),
    "rms force": ("motion", "drive", "relative"),
    "peak speed": ("motion", "drive", "relative"),
    "peak power": ("motion", "drive"),
    "rms power": ("motion", "drive"),
    "mean power": ("motion",),
    "peak reaction": ("motion", "joint", "component"),
    "dexterity": (*_EVERYWHERE, "how"),
    "singularity": (*_EVERYWHERE, "of"),
    "stiffness": (*_EVERYWHERE, "drives", "component"),
    "pose error": (*_EVERYWHERE, "coordinate"),
    "volume": ("region",),
    "largest box": ("region",),
    "largest cylinder": ("region", "axis"),
    "reached": _EVERYWHERE,
    "mass": (),
    "first frequency": ("at",),
    "expression": ("expression",),
    "python": ("python", "robot"),
}


class QuantitySpec(Strict):
    """A quantity: its kind, where it is looked at, and what else its kind takes."""

    kind: str
    motion: str | None = None
    region: str | None = None
    at: PoseSpec = REFERENCE
    drive: str | None = None
    relative: bool = False
    joint: str | None = None
    component: str | None = None
    how: Literal["smallest", "mean"] = "smallest"
    of: Literal["all", "serial", "parallel", "constraint"] = "all"
    drives: Any = None
    coordinate: str = "position"
    axis: str = "z"
    expression: str | None = None
    python: str | None = None
    robot: bool = False
    unit: str = ""
    text: str = ""

    @model_validator(mode="after")
    def _check_kind(self) -> QuantitySpec:
        from nacelle.errors import did_you_mean

        if self.kind not in KINDS:
            raise fault(f"there is no quantity {self.kind!r}", did_you_mean(self.kind, KINDS))
        takes = {"kind", "unit", "text", *KINDS[self.kind]}
        extra = sorted(name for name in self.model_fields_set if name not in takes)
        if extra:
            hint = f"it takes {', '.join(KINDS[self.kind]) or 'nothing else'}"
            raise fault(f"the quantity {self.kind!r} takes no {extra[0]!r}", hint)
        if self.motion is not None and self.region is not None:
            raise fault("motion and region are given", "give one of them")
        for name in ("joint", "expression", "python", "drives"):
            if name in KINDS[self.kind] and getattr(self, name) is None:
                raise fault(f"the quantity {self.kind!r} needs {name!r}")
        return self


def _expand_quantity(value: Any) -> Any:
    """A quantity by its kind alone, or an expression; a key `expression` or `python` is a kind, too."""
    if isinstance(value, str):
        # Words with nothing but spaces between them are no expression, but a kind that is misspelt.
        is_kind = value in KINDS or re.fullmatch(r"[a-z]+( [a-z]+)+", value)
        return {"kind": value} if is_kind else {"kind": "expression", "expression": value}
    if isinstance(value, dict) and "kind" not in value:
        kinds = [kind for kind in ("expression", "python") if kind in value]
        return {"kind": kinds[0], **value} if kinds else value
    return value


class SampleSpec(Strict):
    """Which variants are looked at."""

    method: Literal["grid", "latin-hypercube", "sobol", "monte-carlo", "sensitivity"] = "sobol"
    count: Count = 1024


class OptimiseSpec(Strict):
    """What is sought."""

    minimise: Names = ()
    maximise: Names = ()
    method: str = ""
    evaluations: Count = 2000
    population: Annotated[int, Field(ge=4)] = 48

    @model_validator(mode="after")
    def _check_objectives(self) -> OptimiseSpec:
        if not (self.minimise or self.maximise):
            raise fault("nothing is minimised or maximised", "write minimise: [a quantity]")
        twice = set(self.minimise) & set(self.maximise)
        if twice:
            raise fault(f"{sorted(twice)[0]!r} is minimised and maximised")
        return self

    @property
    def optimiser(self) -> str:
        """The method, or the usual one for the number of objectives."""
        return self.method or ("de" if len(self.minimise) + len(self.maximise) == 1 else "nsga2")


class StudySpec(Strict):
    """A study as written."""

    study: str = ""
    notes: str = ""
    robot: str | None = None
    payload: LoadSpec | None = None
    friction: bool = True
    limits: bool = True
    variables: Annotated[dict[str, VariableSpec], Field(min_length=1)]
    motions: dict[str, MotionSpec] = Field(default_factory=dict)
    regions: dict[str, RegionSpec] = Field(default_factory=dict)
    quantities: Annotated[
        dict[str, Annotated[QuantitySpec, BeforeValidator(_expand_quantity)]], Field(min_length=1)
    ]
    constraints: Names = ()
    sample: SampleSpec | None = None
    optimise: OptimiseSpec | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    block: Count | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> StudySpec:
        if self.sample is not None and self.optimise is not None:
            raise fault("sample and optimise are given", "give one of them")
        for name in self.variables:
            if name in self.quantities:
                raise fault(f"a variable and a quantity are called {name!r}", "rename one of them")
        return self

    @property
    def is_grid(self) -> bool:
        """Whether variants are those of a grid."""
        return self.sample is not None and self.sample.method == "grid"
