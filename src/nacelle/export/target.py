"""What models of a robot are exported as: a target, with the options that it alone takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from nacelle.control.controller import Controller
from nacelle.errors import ExportError, did_you_mean
from nacelle.export.about import Package
from nacelle.export.vectors import ReferenceVectors
from nacelle.trajectory import Trajectory

PRECISIONS: dict[str, tuple[str, ...]] = {
    "double": ("double",),
    "float": ("float",),
    "both": ("double", "float"),
}
_DOUBLE = "precision and batch are options of C; the target {} computes in double"
_PROFILE = "profiles are written in C; the target {} has none"
_TRAJECTORY = "trajectories are sampled in C; the target {} has none"
_MODELS = "controllers and plants are written in C; the target {} has models alone"


class ExportTarget:
    """A target. Heirs are frozen dataclasses: their fields are the options that they take.

    Attributes:
        name: what it is called.
        models: those that it has where none are named; it has no others then. Empty where any can be named.
        refusals: why options are refused that it does not take.
        precision: "double", "float" or "both".
        batch: whether there are functions for many samples, too.
        profile: what kind of machine the code is for.
        controller: a controller of the robot.
        plant: whether there is the robot as what a controller moves.
        trajectory: a trajectory of the robot that is sampled in C.
        parameters: groups of the robot's free numbers (`robot.numbers`) that are given at run time, a
            sequence or one text with commas: every function then comes with one that prepares them.
        self_test: whether the self-test is run before anything is written; None where it cannot be.
    """

    name: ClassVar[str]
    models: ClassVar[tuple[str, ...]] = ()
    refusals: ClassVar[dict[str, str]] = {
        **{"precision": _DOUBLE, "batch": _DOUBLE, "profile": _PROFILE},
        **{"controller": _MODELS, "plant": _MODELS, "trajectory": _TRAJECTORY},
    }
    precision: str = "double"
    batch: bool = False
    profile: str = ""
    controller: Controller | None = None
    plant: bool = False
    trajectory: Trajectory | None = None
    parameters: str | Sequence[str] = ()
    self_test: bool | None = None

    def __post_init__(self) -> None:
        """Check."""
        if self.precision not in PRECISIONS:
            raise ExportError(
                f"no precision is called {self.precision!r}; {did_you_mean(self.precision, PRECISIONS)}"
            )

    @classmethod
    def with_options(cls, options: Mapping[str, Any]) -> Self:
        """The target with some options.

        Raises:
            ExportError: if it does not take one that asks for something.
        """
        own_options = set(getattr(cls, "__dataclass_fields__", ()))
        for option, value in options.items():
            is_neutral = value in (getattr(ExportTarget, option), "both", "") or option == "self_test"
            if option not in own_options and not is_neutral:
                raise ExportError(cls.refusals[option].format(cls.name))
        return cls(**{option: value for option, value in options.items() if option in own_options})

    def files(self, package: Package, references: Mapping[str, ReferenceVectors]) -> dict[str, str]:
        """All files of a package by their path in it, from reference vectors by label."""
        raise NotImplementedError  # each target has its own
