"""Campaigns in files: what was measured, a table (CSV), and how, in YAML with units.

    samples: poses.csv                     # a row a pose: drives, sensors, DEVICE.x ...; units in the header
    encoders: {noise: 2 um, sensors: [left.elbow, leg1.cross.2]}
    parameters: [default, "zero.*=0.5 deg,-2 deg..2 deg"]          # what is estimated; tolerances, bounds
    devices:
      tracker: {measures: [x, y, z], noise: 10 um, tool: {point: 0 0 -20 mm}}      # its frame is found
      probe: {measures: [z], noise: 5 um, tolerance: {z: 5 mm, rx: 1 deg, ry: 1 deg}}
      bar: {kind: distance, point: 0 0 -300 mm, noise: 1 um, range: [0.2 m, 0.6 m]}
      cam: {kind: camera, camera: {position: 0 0 1 m, looks at: 0 0 0 m}, noise: 0.1}
      rods: {kind: edges, camera: {position: 0 0 1 m, looks at: 0 0 0 m}, noise: 0.1, file: edges.csv}
      cone: {kind: places, noise: 3 um, tool: {tolerance: 1 mm}}   # a place visited again: column cone.place
    pairs: {file: pairs.csv, noise: 10 um} # first, second (rows from 0), distance

A table alone is a campaign, too: columns DEVICE.x ... DEVICE.rz are trackers whose frames are found, and
their noise is given with it. Columns named as the robot's coordinates are poses near those of the samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from nacelle.calibration.camera_edges import blank_edges, edge_devices
from nacelle.calibration.devices import Device, Distance, Pairs, Places, Target, Tool, Tracker
from nacelle.calibration.fit import Campaign
from nacelle.calibration.lines_of_sight import UNLIMITED, View
from nacelle.calibration.parameters import AXES, Encoder, encoders_of
from nacelle.control.vision.camera_file import CameraFile, CameraSpec
from nacelle.control.yaml_input import read_specification
from nacelle.errors import CalibrationError, DescriptionError, Problem, TableError, did_you_mean
from nacelle.kinematics.forward import forward_kinematics
from nacelle.model.description.fields import (
    Angle,
    Angles3,
    Direction,
    Length,
    Lengths3,
    PositiveLength,
    Strict,
    raise_at,
)
from nacelle.model.leg import PLATFORM
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.model.source.node import Source
from nacelle.model.units import QUANTITIES, SI, UnitError, parse_quantity
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import ANGLE, LENGTH, Columns, Table, read_table
from nacelle.vision.calibration.bundle import EdgePoints
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import visible_cylinders

_PIXELS = ("u", "v")
Px = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


class ToolSpec(Strict):
    """The point that a device measures."""

    point: Lengths3 = (0.0, 0.0, 0.0)
    orientation: Angles3 = (0.0, 0.0, 0.0)
    body: str = ""
    tolerance: Length = 0.0
    rotation_tolerance: Angle = Field(0.0, alias="rotation tolerance")


class ToleranceSpec(Strict):
    """How well the place of a device is known before anything is measured; what is left out is known."""

    x: Length = 0.0
    y: Length = 0.0
    z: Length = 0.0
    rx: Angle = 0.0
    ry: Angle = 0.0
    rz: Angle = 0.0
    offset: Length = 0.0


class DeviceSpec(Strict):
    """A device as written."""

    kind: Literal["tracker", "distance", "camera", "edges", "places"] = "tracker"
    measures: tuple[str, ...] = AXES[:3]
    noise: Any = None
    rotation_noise: Angle | None = Field(None, alias="rotation noise")
    position: Lengths3 | None = None
    orientation: Angles3 | None = None
    tolerance: ToleranceSpec | None = None
    point: Lengths3 | None = None
    camera: CameraSpec | None = None
    file: str = ""
    tool: ToolSpec = ToolSpec()
    range: tuple[Length, PositiveLength] | None = None
    facing: Direction | None = None
    acceptance: Angle | None = None
    line_of_sight: bool = Field(False, alias="line of sight")

    @model_validator(mode="after")
    def _check(self) -> DeviceSpec:
        for name in self.measures:
            if name not in AXES:
                raise_at("measures", f"a tracker does not measure {name!r}", f"{did_you_mean(name, AXES)}")
        if self.kind in ("camera", "edges") and self.camera is None:
            raise_at(
                "kind",
                "a camera has its place and lens in 'camera'",
                "camera: {position: ..., looks at: ...}",
            )
        if self.file and self.kind != "edges":
            raise_at("kind", "edges alone are in a file of their own", "leave the file out")
        if (self.facing is None) != (self.acceptance is None):
            raise_at("facing", "facing and acceptance require each other", "facing: z, acceptance: 60 deg")
        if self.range is not None and not 0.0 <= self.range[0] < self.range[1]:
            raise_at("range", "a range is from a smaller to a larger length", "range: [0.2 m, 4 m]")
        if self.view != UNLIMITED and self.kind in ("edges", "places"):
            raise_at("kind", f"{self.kind} have no range and no line of sight", "leave them out")
        if self.kind == "places" and not {*self.measures} <= {*AXES[:3]}:
            raise_at("measures", "a place is the same in coordinates of x, y, z", "measures: [x, y]")
        if self.kind == "distance" and self.point is None:
            raise_at("kind", "distances are from a point of the base", "point: 0 0 -300 mm")
        if self.noise is None:
            raise_at("noise", "the standard deviation of a measurement is missing", "noise: 10 um")
        return self

    @property
    def view(self) -> View:
        """What limits its sight."""
        nearest, furthest = self.range or UNLIMITED[:2]
        acceptance = UNLIMITED.acceptance if self.acceptance is None else self.acceptance
        facing = None if self.facing is None else (self.facing[0], self.facing[1], self.facing[2])
        return View(nearest, furthest, facing, acceptance, self.line_of_sight)


class EncoderSpec(Strict):
    """The encoders as written."""

    noise: Any = None
    sensors: tuple[str, ...] = ()


class PairSpec(Strict):
    """Pairs of samples as written."""

    file: str
    noise: PositiveLength
    tool: ToolSpec = ToolSpec()


class CampaignSpec(Strict):
    """A campaign as written."""

    samples: str = ""
    encoders: EncoderSpec = EncoderSpec()
    parameters: tuple[str, ...] = ()
    devices: dict[str, DeviceSpec] = Field(default_factory=dict)
    pairs: PairSpec | None = None


class CampaignFile(NamedTuple):
    """A campaign, and the patterns of the parameters that it asks to estimate."""

    campaign: Campaign
    parameters: tuple[str, ...]


def read_campaign(
    source: str | Path | Mapping[str, Any], robot: Robot, noise: Mapping[str, Any] | None = None
) -> CampaignFile:
    """Read a campaign.

    Args:
        source: a YAML file or mapping, or a table (CSV) alone.
        robot: the robot.
        noise: of the devices of a table alone, by name: a length with a unit, or two, the second of angles;
            "encoders" for these.

    Raises:
        DescriptionError: with all problems of the YAML file, each where it is.
        TableError: with all problems of a table.
        CalibrationError: if names or numbers do not fit the robot.
    """
    if isinstance(source, str | Path) and Path(source).suffix.lower() not in (".yaml", ".yml"):
        table = read_table(source)
        spec, tree = _spec_of_table(table, robot, noise or {})
        return CampaignFile(_campaign(robot, spec, tree, table, Path(source).parent), ())
    spec, tree = read_specification(CampaignSpec, source)
    folder = Path() if isinstance(source, Mapping) else Path(source).parent
    found_table = read_table(folder / spec.samples) if spec.samples else None
    return CampaignFile(_campaign(robot, spec, tree, found_table, folder), spec.parameters)


def _spec_of_table(table: Table, robot: Robot, noise: Mapping[str, Any]) -> tuple[CampaignSpec, Source]:
    """A campaign of trackers, from the columns of a table."""
    known = {encoder.name for encoder in encoders_of(robot)}
    devices: dict[str, list[str]] = {}
    for name in table.names:
        device, dot, coordinate = name.rpartition(".")
        if dot and coordinate in AXES and name not in known:
            devices.setdefault(device, []).append(coordinate)
    for name in noise:
        if name not in devices and name != "encoders":
            raise CalibrationError(
                f"--noise {name}: the table has no columns {name}.x ...; {did_you_mean(name, devices)}"
            )
    specification: dict[str, Any] = {"devices": {}}
    for device, coordinates in devices.items():
        if device not in noise:
            raise CalibrationError(
                f"the noise of {device!r} is missing: --noise {device}=10um, or 10um,0.001deg with rotations"
            )
        position, _, rotation = str(noise[device]).partition(",")
        entry = {"measures": coordinates, "noise": position}
        specification["devices"][device] = entry | ({"rotation noise": rotation} if rotation else {})
    if "encoders" in noise:
        specification["encoders"] = {"noise": noise["encoders"]}
    return read_specification(CampaignSpec, specification)


def _campaign(robot: Robot, spec: CampaignSpec, tree: Source, table: Table | None, folder: Path) -> Campaign:
    sensors = spec.encoders.sensors
    encoders = encoders_of(robot, sensors=sensors)
    if spec.encoders.noise is not None:
        encoders = tuple(
            replace(
                item,
                noise=_quantity(spec.encoders.noise, _is_angle(robot, item), tree, ("encoders", "noise")),
            )
            for item in encoders
        )
    count = 0 if table is None else len(table)
    columns = {} if table is None else _columns(robot, table, encoders, spec)
    blank = np.full(count, np.nan)
    readings = np.stack([columns.get(item.name, blank) for item in encoders], axis=1)
    filled: list[Device] = []
    for name, item in spec.devices.items():
        if item.kind == "edges":
            px, camera = _camera(robot, name, item, tree)
            tolerance = _six(item.tolerance or ToleranceSpec())
            if table is None:
                filled += blank_edges(robot, camera, px, tolerance, name)
                continue
            if not item.file:
                raise DescriptionError(
                    [tree.problem(("devices", name), "edges are in a file of their own", "file: edges.csv")]
                )
            x = forward_kinematics(robot, readings[:, : len(robot.actuators)]).x
            seen = _sightings(robot, read_table(folder / item.file), px, count)
            filled += edge_devices(robot, x, seen, camera, tolerance, name)
            continue
        values = np.stack([columns.get(f"{name}.{label}", blank) for label in _labels(item)], axis=1)
        if item.kind == "places":
            # Any numbers name places.
            _, values[np.isfinite(values)] = np.unique(values[np.isfinite(values)], return_inverse=True)
        filled.append(_device(robot, name, item, tree).with_values(values))
    names = layout_of(robot.motion).x_names
    guess = np.stack([columns[name] for name in names], axis=1) if all(n in columns for n in names) else None
    if guess is not None and not np.all(np.isfinite(guess)):
        guess = None
    pairs = () if spec.pairs is None else (_pairs(robot, spec.pairs, tree, folder, count),)
    return Campaign(robot, readings, encoders, tuple(filled), pairs, guess=guess)


def _is_angle(robot: Robot, encoder: Encoder) -> bool:
    return robot.joints[encoder.axis.joint].primitives[encoder.axis.number].is_rotation


def _quantity(value: Any, is_angle: bool, tree: Source, path: tuple[str, ...]) -> float:
    """A noise in SI units, above zero.

    Raises:
        DescriptionError: if it cannot be read as one.
    """
    quantity = QUANTITIES["angle" if is_angle else "length"]
    try:
        number = float(parse_quantity(value, quantity, SI))
        if number > 0.0:
            return number
        message, hint = f"a noise is above zero, got {value!r}", f"write {quantity.example!r}"
    except UnitError as error:
        message, hint = str(error), error.hint
    raise DescriptionError([tree.problem(path, message, hint)])


def _labels(spec: DeviceSpec) -> Sequence[str]:
    labels = {"distance": ("distance",), "camera": _PIXELS, "places": ("place",), "edges": ()}
    return labels.get(spec.kind, spec.measures)


def _tool(robot: Robot, spec: ToolSpec, tree: Source, path: tuple[str, ...]) -> Tool:
    names = [body.name for body in robot.bodies]
    if spec.body and spec.body not in names:
        message = f"{robot.name} has no body {spec.body!r}"
        raise DescriptionError([tree.problem(path, message, did_you_mean(spec.body, names))])
    return Tool(
        names.index(spec.body) if spec.body else PLATFORM,
        np.array(spec.point, dtype=float),
        spec.tolerance,
        rotation_rpy(np.array(spec.orientation)),
        spec.rotation_tolerance,
    )


def _device(robot: Robot, name: str, spec: DeviceSpec, tree: Source) -> Device:
    path = ("devices", name)
    tool = _tool(robot, spec.tool, tree, (*path, "tool"))
    t = spec.tolerance or ToleranceSpec()
    six = _six(t)
    if spec.kind == "camera":
        px, camera = _camera(robot, name, spec, tree)
        return Target(np.zeros((0, 2)), px, camera, six, tool, name, spec.view)
    noise = _quantity(spec.noise, False, tree, (*path, "noise"))
    if spec.kind == "places":
        return Places(np.zeros((0, 1)), noise, tool, name, spec.measures)
    if spec.kind == "distance":
        assert spec.point is not None
        point = np.array(spec.point, dtype=float)
        tolerance = (t.x, t.y, t.z, t.offset)
        return Distance(np.zeros((0, 1)), noise, point, tolerance, tool, name, spec.view)
    rotation = [axis for axis in spec.measures if axis.startswith("r")]
    if rotation and spec.rotation_noise is None:
        raise DescriptionError(
            [
                tree.problem(
                    (*path, "measures"), "the noise of the rotations is missing", "rotation noise: 0.001 deg"
                )
            ]
        )
    is_known = spec.position is not None or spec.tolerance is not None
    frame = Pose(
        rotation_rpy(np.array(spec.orientation or (0.0,) * 3)),
        np.array(spec.position or (0.0,) * 3, dtype=float),
    )
    deviations = np.array(
        [spec.rotation_noise if axis in rotation else noise for axis in spec.measures], dtype=float
    )
    return Tracker(
        np.zeros((0, len(spec.measures))),
        deviations,
        spec.measures,
        frame,
        six if is_known else (np.inf,) * 6,
        tool,
        name,
        spec.view,
    )


def _camera(robot: Robot, name: str, spec: DeviceSpec, tree: Source) -> tuple[float, Camera]:
    """Noise, px, and camera of a device.

    Raises:
        DescriptionError: if the noise is no number.
    """
    assert spec.camera is not None
    try:
        px = float(spec.noise)
    except (TypeError, ValueError):
        px = -1.0
    if not px > 0.0:
        message = f"a noise in px is a number above zero, got {spec.noise!r}"
        raise DescriptionError([tree.problem(("devices", name, "noise"), message, "noise: 0.1")])
    return px, CameraFile(spec.camera, tree).camera(robot)


def _six(t: ToleranceSpec) -> tuple[float, ...]:
    """Standard deviations along and about the axes (6,), m and rad."""
    return t.x, t.y, t.z, t.rx, t.ry, t.rz


def _sightings(robot: Robot, table: Table, px: float, count: int) -> list[list[EdgePoints]]:
    """Points of edges of rods at each sample, from a table: sample, rod, side, u, v.

    Raises:
        TableError: with what is wrong in the table.
    """
    columns = Columns(table, dict.fromkeys(("sample", "side", *_PIXELS), ()))
    for k, column in enumerate(table.names):
        if column in ("sample", "side", *_PIXELS):
            columns.take(column, k)
    columns.require(["sample", "side", *_PIXELS])
    columns.stop("table of edges")
    values = columns.values()
    columns.stop("table of edges")
    cylinders = [cylinder.name for cylinder in visible_cylinders(robot)]
    points: dict[tuple[int, int, int], list[Array]] = {}
    for row in range(len(table)):
        cells = table.row(row).cells
        rod = cells[table.names.index("rod")].text.strip() if "rod" in table.names else ""
        sample, side = (int(values[key][row]) for key in ("sample", "side"))
        if rod not in cylinders or not 0 <= sample < count or side not in (0, 1):
            wrong = f"sample {sample}, rod {rod!r}, side {side} is no edge that can be seen"
            hint = f"rows from 0 to {count - 1}, side 0 or 1, rods {', '.join(cylinders)}"
            raise TableError(
                "1 problem in the table of edges:",
                [Problem(table.file, table.row(row).line, 1, "", wrong, hint)],
            )
        key = sample, cylinders.index(rod), side
        points.setdefault(key, []).append(np.array([values["u"][row], values["v"][row]]))
    sightings: list[list[EdgePoints]] = [[] for _ in range(count)]
    for (sample, rod_index, side), pixels in points.items():
        sightings[sample].append(EdgePoints(rod_index, side, np.array(pixels), px))
    return sightings


def _columns(robot: Robot, table: Table, encoders: Sequence[Encoder], spec: CampaignSpec) -> dict[str, Array]:
    """Columns of the samples by name, SI units; empty entries are NaN.

    Raises:
        TableError: with everything that is wrong in the table.
    """
    dimensions: dict[str, tuple[Any, ...]] = {
        item.name: (ANGLE,) if _is_angle(robot, item) else (LENGTH,) for item in encoders
    }
    layout = layout_of(robot.motion)
    for name, unit in zip(layout.x_names, layout.units, strict=True):
        dimensions[name] = {"m": (LENGTH,), "rad": (ANGLE,)}.get(unit, ())
    for device, item in spec.devices.items():
        for label in _labels(item):
            dimensions[f"{device}.{label}"] = (
                (ANGLE,) if label.startswith("r") else () if item.kind in ("camera", "places") else (LENGTH,)
            )
    columns = Columns(table, dimensions)
    for k, name in enumerate(table.names):
        if name in dimensions:
            columns.take(name, k)
        elif name not in ("", "t", "sample", "number"):
            columns.add(
                table.header,
                k,
                name,
                "a column that belongs to nothing",
                did_you_mean(name, dimensions) or "leave it out",
            )
    drives = [item.name for item in encoders]
    measured = [f"{device}.{label}" for device, item in spec.devices.items() for label in _labels(item)]
    columns.require([*drives, *measured])
    columns.stop("table of samples")
    values = columns.values(gaps=True)
    columns.stop("table of samples")
    return values


def _pairs(robot: Robot, spec: PairSpec, tree: Source, folder: Path, count: int) -> Pairs:
    table = read_table(folder / spec.file)
    columns = Columns(table, {"first": (), "second": (), "distance": (LENGTH,)})
    for k, name in enumerate(table.names):
        if name in ("first", "second", "distance"):
            columns.take(name, k)
    columns.require(["first", "second", "distance"])
    columns.stop("table of pairs")
    values = columns.values()
    columns.stop("table of pairs")
    samples = np.stack([values["first"], values["second"]], axis=1)
    bad = np.flatnonzero(np.any((samples != np.round(samples)) | (samples < 0) | (samples >= count), axis=1))
    if bad.size or np.any(samples[:, 0] == samples[:, 1]):
        row = int(bad[0]) if bad.size else int(np.flatnonzero(samples[:, 0] == samples[:, 1])[0])
        line = table.row(row).line
        problem = Problem(
            table.file, line, 1, "", "a pair is of two samples of the table", f"rows 0 to {count - 1}"
        )
        raise TableError("1 problem in the table of pairs:", [problem])
    if spec.tool.tolerance:
        message = "the tool point of pairs is known"
        raise DescriptionError([tree.problem(("pairs", "tool"), message, "leave the tolerance out")])
    tool = _tool(robot, spec.tool, tree, ("pairs", "tool"))
    return Pairs(samples.astype(int), values["distance"][:, None], spec.noise, tool)


def rows_of(robot: Robot, x: Array, q: Array) -> tuple[list[str], list[str], Array]:
    """Names, units and numbers of a table of poses to go to: coordinates and drives."""
    layout = layout_of(robot.motion)
    names = [*layout.x_names, *(actuator.name for actuator in robot.actuators)]
    units = [*layout.units, *("rad" if turning else "m" for turning in robot.revolute_actuators)]
    return names, units, np.concatenate([x, q], axis=1)
