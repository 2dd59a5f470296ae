"""Cameras written in YAML: where they are, what they see with, when they look; quantities with units.

    position: 0 0 1.2 m            # the optical centre in the base
    looks at: 0 0 0 m              # seen in the middle of the image
    up: y                          # a direction of the base that is up in the image
    size: [1024, 1024]             # px
    field: 40 deg                  # full angle across the shorter side; or focal and centre, px
    distortion: [-0.1, 0.02, 0, 0, 0]                # Brown's k1, k2, p1, p2, k3
    shutter: {kind: sequential, rate: 500 Hz, exposure: 0.5 ms, latency: 2 ms, clock offset: 0 ms}
    pixels: {blur: 0.8, read noise: 2, shot: 0, quantised: false, background: 40, leg: 200, other: 110}

What is left out of shutter and pixels is as in `Shutter` and `PixelModel`; without a position the camera is
one that sees all legs (`camera_for`). What is wrong is said with file, line and column, all at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from nacelle.control.yaml_input import Frequency, NonNegativeTime, Time, read_specification
from nacelle.errors import DescriptionError, KinematicsError
from nacelle.model.description.fields import (
    Angle,
    Direction,
    Lengths3,
    Strict,
    fault,
    raise_at,
)
from nacelle.model.robot import Robot
from nacelle.model.source.node import Source
from nacelle.results import HasTable
from nacelle.vision.camera import Camera, Shutter
from nacelle.vision.image.pixel_model import PixelModel

# Images are at most this wide and high, px: larger ones are a mistake, or fill the memory.
_MAX_PIXELS = 16_384


def _check_pixels(value: Any) -> Any:
    if not (isinstance(value, int) and not isinstance(value, bool) and 16 <= value <= _MAX_PIXELS):
        raise fault(f"expected a whole number of pixels, 16 to {_MAX_PIXELS}, got {value!r}", "write 1024")
    return value


Pixels = Annotated[int, BeforeValidator(_check_pixels)]
Level = Annotated[float, Field(ge=0.0, le=1e4, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Focal = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


class ShutterSpec(Strict):
    """When a camera looks."""

    kind: Literal["global", "sequential"] = "sequential"
    rate: Frequency = 500.0
    exposure: NonNegativeTime = 0.5e-3
    latency: NonNegativeTime = 2e-3
    clock_offset: Time = Field(0.0, alias="clock offset")

    @model_validator(mode="after")
    def _check_exposure(self) -> ShutterSpec:
        if self.exposure > 1.0 / self.rate:
            raise_at(
                "exposure",
                f"an exposure of {1e3 * self.exposure:g} ms does not fit into {1e3 / self.rate:g} ms",
                "take a shorter exposure or a lower rate",
            )
        return self


class PixelSpec(Strict):
    """Blur, grey levels and noise of an image."""

    blur: Level = 0.8
    read_noise: Level = Field(2.0, alias="read noise")
    shot: Level = 0.0
    quantised: bool = False
    background: Level = 40.0
    leg: Level = 200.0
    other: Level = 110.0

    @model_validator(mode="after")
    def _check_contrast(self) -> PixelSpec:
        if self.leg == self.background:
            raise_at(
                "leg", f"the legs have the grey level of the background, {self.leg:g}: they cannot be seen"
            )
        return self


class CameraSpec(Strict):
    """A camera as written."""

    name: str = "camera"
    position: Lengths3 | None = None
    looks_at: Lengths3 | None = Field(None, alias="looks at")
    up: Direction | None = None
    size: tuple[Pixels, Pixels] = (1024, 1024)
    field: Angle | None = None
    focal: tuple[Focal, Focal] | None = None
    centre: tuple[Number, Number] | None = None
    distortion: tuple[Number, Number, Number, Number, Number] = (0.0, 0.0, 0.0, 0.0, 0.0)
    shutter: ShutterSpec = ShutterSpec()
    pixels: PixelSpec = PixelSpec()

    @model_validator(mode="after")
    def _check_view(self) -> CameraSpec:
        if (self.position is None) != (self.looks_at is None):
            key = "looks at" if self.position is None else "position"
            raise_at(key, "position and 'looks at' require each other", "give both, or neither")
        if self.position is not None and self.position == self.looks_at:
            raise_at("looks at", "a camera cannot look at its own centre")
        if self.field is not None and self.focal is not None:
            raise_at("focal", "field and focal are given", "give one of them")
        if self.field is not None and not 0.0 < self.field < 3.1:
            raise_at("field", f"the angle of view is above 0 and below 178 deg, got {self.field:g} rad")
        return self


@dataclass(frozen=True, eq=False, repr=False)
class CameraFile(HasTable):
    """A camera as written.

    Attributes:
        spec: its entries.
        source: its file and tree.
    """

    spec: CameraSpec
    source: Source

    def camera(self, robot: Robot) -> Camera:
        """The camera; where it has no position one that sees all legs of a robot.

        Raises:
            DescriptionError: if it cannot be placed.
        """
        spec = self.spec
        optics: dict[str, Any] = {"size": spec.size, "distortion": spec.distortion}
        if spec.field is not None:
            optics["field"] = spec.field
        try:
            if spec.position is None:
                from nacelle.vision.placing import camera_for

                camera = camera_for(robot, **optics)
            else:
                camera = Camera.look_at(spec.looks_at, spec.position, up=spec.up or (0.0, 0.0, 1.0), **optics)
        except KinematicsError as error:
            raise DescriptionError([self.source.problem((), str(error))]) from None
        changes: dict[str, Any] = {}
        if spec.focal is not None:
            changes["focal"] = spec.focal
        if spec.centre is not None:
            changes["centre"] = spec.centre
        return replace(camera, **changes) if changes else camera

    @property
    def shutter(self) -> Shutter:
        """When it looks."""
        spec = self.spec.shutter
        return Shutter(spec.rate, spec.exposure, spec.latency, spec.kind, spec.clock_offset)

    @property
    def pixels(self) -> PixelModel:
        """Blur, grey levels, noise."""
        return PixelModel(**self.spec.pixels.model_dump())


def read_camera(source: str | Path | Mapping[str, Any]) -> CameraFile:
    """Read a camera.

    Args:
        source: a YAML file, its text if that has more than one line, or a mapping of the same shape.

    Raises:
        DescriptionError: with all problems, each with file, line and column.
    """
    return CameraFile(*read_specification(CameraSpec, source))
