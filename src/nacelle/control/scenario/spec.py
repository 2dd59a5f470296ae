"""The shape of a scenario as it is written; quantities that depend on the robot are read with it."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from nacelle.control.yaml_input import (
    Duration,
    Frequency,
    NonNegativeTime,
    Probability,
    Share,
    Speed,
    Time,
)
from nacelle.model.description.fields import (
    Angle,
    Direction,
    Mass,
    Name,
    PositiveLength,
    Raw,
    RawList,
    Strict,
    fault,
)

MIDDLE, REFERENCE = "middle of workspace", "reference"
_NAMED_POSES = (MIDDLE, REFERENCE)


def _check_pose_spec(value: Any) -> Any:
    if isinstance(value, dict) or value in _NAMED_POSES:
        return value
    raise fault(
        f"expected a place, got {value!r}", f'write "{MIDDLE}", {REFERENCE}, or coordinates {{x: 100 mm}}'
    )


PoseSpec = Annotated[Any, BeforeValidator(_check_pose_spec)]
Count = Annotated[int, Field(ge=1)]


def _require_one(model: Any, *names: str) -> None:
    """Demand exactly one of several keys, by the names in the file."""
    fields = type(model).model_fields
    present = [name for name in names if getattr(model, name) is not None]
    if len(present) != 1:
        keys = [fields[name].alias or name for name in names]
        named = " and ".join(fields[name].alias or name for name in present)
        raise fault(
            f"exactly one of {', '.join(keys)} is needed, {named + ' are' if present else 'none is'} given"
        )


# ---- paths


class InclineSpec(Strict):
    """A plane turned about an axis."""

    axis: Direction = (1.0, 0.0, 0.0)
    angle: Angle


class CircleSpec(Strict):
    """A circle at constant speed between two ramps; sizes that are left out fit the robot."""

    centre: PoseSpec = REFERENCE
    radius: PositiveLength | None = None
    plane: str | None = None
    incline: InclineSpec | None = None
    speed: Speed | None = None
    turns: Annotated[float, Field(gt=0.0)] = 2.0
    ramp: Duration | None = None
    back: bool = False


class PickAndPlaceSpec(Strict):
    """To a place where something is picked up, and back; sizes that are left out fit the robot."""

    centre: PoseSpec = REFERENCE
    distance: PositiveLength | None = None
    height: PositiveLength | None = None
    duration: Duration | None = None
    speed: Speed | None = None
    dwell: Duration = 0.1
    load: Mass | None = None

    @model_validator(mode="after")
    def _check_timing(self) -> PickAndPlaceSpec:
        if self.duration is not None and self.speed is not None:
            raise fault("duration and speed are given", "give one of them, or neither")
        return self


class LineSpec(Strict):
    """A straight line from rest to rest."""

    start: PoseSpec = REFERENCE
    end: PoseSpec
    duration: Duration | None = None
    speed: Speed | None = None
    back: bool = False

    @model_validator(mode="after")
    def _check_timing(self) -> LineSpec:
        _require_one(self, "duration", "speed")
        return self


class PointsSpec(Strict):
    """A smooth path through points, from rest to rest."""

    points: Annotated[list[PoseSpec], Field(min_length=2)] | None = None
    file: str | None = None
    duration: Duration | None = None
    speed: Speed | None = None
    corners: bool = False

    @model_validator(mode="after")
    def _check_timing(self) -> PointsSpec:
        _require_one(self, "points", "file")
        if self.duration is not None and self.speed is not None:
            raise fault("duration and speed are given", "give one of them")
        if self.points is not None and self.duration is None and self.speed is None:
            raise fault("missing key 'duration' or 'speed'", "points have no times")
        return self


class PathSpec(Strict):
    """Where the platform goes."""

    circle: CircleSpec | None = None
    pick_and_place: PickAndPlaceSpec | None = Field(None, alias="pick-and-place")
    line: LineSpec | None = None
    through: PointsSpec | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> PathSpec:
        _require_one(self, "circle", "pick_and_place", "line", "through")
        return self


# ---- what moves


class LoadSpec(Strict):
    """A mass that the robot carries."""

    mass: Mass
    com: RawList = (0.0, 0.0, 0.0)
    inertia: Any = (0.0, 0.0, 0.0)
    on: str | None = None


class WrenchSpec(Strict):
    """A force and a torque from outside, about the origin of a body or tool, in base axes."""

    force: RawList = (0.0, 0.0, 0.0)
    torque: RawList = (0.0, 0.0, 0.0)
    on: str | None = None


class ChangeSpec(Strict):
    """A load or a wrench from a time on, for a while."""

    at: Time
    until: Time | None = None
    load: LoadSpec | None = None
    wrench: WrenchSpec | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> ChangeSpec:
        _require_one(self, "load", "wrench")
        if self.until is not None and not self.until > self.at:
            raise fault(f"until, {self.until:g} s, is not after at, {self.at:g} s")
        return self

    def delay_by(self, time: float) -> ChangeSpec:
        """The same by so much later, s."""
        until = None if self.until is None else self.until + time
        return self.model_copy(update={"at": self.at + time, "until": until})


class RobotSpec(Strict):
    """A robot that differs from the one that is named: a file, or parameters moved at random."""

    file: str | None = None
    moved: Share | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    load: LoadSpec | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> RobotSpec:
        if self.file is not None and self.moved is not None:
            raise fault("file and moved are given", "give one of them")
        return self


class CoggingSpec(Strict):
    """Cogging A sin(k q + phase) of every drive."""

    amplitude: RawList
    cycles: RawList
    phase: Angle = 0.0


class StictionSpec(Strict):
    """Coulomb friction of the actuated joints as LuGre friction."""

    static: Annotated[float, Field(ge=1.0)] = 1.5
    rate: Raw = None
    stiffness: Raw = None


def _expand_stiction(value: Any) -> Any:
    """Stiction with the usual numbers for true, none for false."""
    return {} if value is True else None if value is False else value


class DrivesSpec(Strict):
    """Drives between commands and joints."""

    lag: NonNegativeTime | None = None
    bandwidth: Frequency | None = None
    limits: RawList = "described"
    cogging: CoggingSpec | None = None
    stiction: Annotated[StictionSpec | None, BeforeValidator(_expand_stiction)] = None

    @model_validator(mode="after")
    def _check_current_loop(self) -> DrivesSpec:
        if self.lag is not None and self.bandwidth is not None:
            raise fault("lag and bandwidth are given", "give one of them")
        return self

    @property
    def time_constant(self) -> float:
        """Of the current loops, s; 0 without them."""
        if self.bandwidth is not None:
            return float(1.0 / (2.0 * math.pi * self.bandwidth))
        return float(self.lag or 0.0)


class PlantSpec(RobotSpec):
    """What moves."""

    friction: bool = True
    smooth: Annotated[float, Field(gt=0.0)] = 1e-3
    elastic: bool = False
    drives: DrivesSpec = DrivesSpec()


# ---- controllers and sensors


class ControllerSpec(Strict):
    """A controller by its name, with what its gains are made from."""

    name: str
    label: str | None = None
    bandwidth: Frequency | None = None
    natural_frequency: Frequency | None = None
    options: dict[str, Any] = Field(default_factory=dict)


def _expand_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class GapSpec(Strict):
    """A time without readings."""

    start: Time = Field(alias="from")
    end: Time = Field(alias="until")
    actuator: Name | None = None


class SensorsSpec(Strict):
    """Encoders."""

    resolution: RawList = None
    noise: RawList = 0.0
    dropout: Probability = 0.0
    late: Probability = 0.0
    gaps: tuple[GapSpec, ...] = ()


def _expand_ideal(value: Any) -> Any:
    """The word for encoders without steps and noise, as their numbers."""
    return {"resolution": 0.0} if value == "ideal" else value


class ScenarioSpec(Strict):
    """A scenario as written."""

    name: str | None = None
    notes: str | None = None
    robot: str | None = None
    path: PathSpec
    sample: Duration = 5e-4
    delay: NonNegativeTime = 0.0
    settle: NonNegativeTime | None = None
    repeat: Count = 1
    duration: Duration | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    tool: str = ""
    controllers: Annotated[
        tuple[Annotated[ControllerSpec, BeforeValidator(_expand_name)], ...], Field(min_length=1)
    ] = tuple(ControllerSpec(name=name) for name in ("sj", "cf-rb", "cf-rb-friction"))
    model: RobotSpec = RobotSpec()
    plant: PlantSpec = PlantSpec()
    sensors: Annotated[SensorsSpec, BeforeValidator(_expand_ideal)] = SensorsSpec()
    changes: tuple[ChangeSpec, ...] = ()
