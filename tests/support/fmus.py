"""FMUs of robots: exported once, loaded by FMPy."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import nacelle
from nacelle.control.named import controller
from support.library import library_robot

SMOOTH = 1e-2


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="nacelle-fmus-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def fmu(robot: str, what: str = "") -> Path:
    """The FMU of a robot of the library: of a model, a controller ("controller NAME"), or its motion."""
    return _fmu(robot, what)


@cache
def _fmu(robot: str, what: str) -> Path:
    out = _folder() / f"{robot}-{what.replace(' ', '-')}.fmu"
    kind, _, law = what.partition(" ")
    made = controller(library_robot(robot), law) if kind == "controller" else None
    nacelle.export(
        library_robot(robot),
        () if law or not what else what,
        out=out,
        target=nacelle.io.FmiTarget(controller=made),
        smooth=SMOOTH,
        name="model",
    )
    return out


class FmuInstance:
    """An instance of an FMU with its variables by name."""

    def __init__(self, instance: Any, description: Any) -> None:
        self.instance, self.description = instance, description
        self.places = {v.name: v.valueReference for v in description.modelVariables}

    def names(self, start: str) -> list[str]:
        """Names that begin with a word."""
        return [name for name in self.places if name.startswith(start)]

    def get(self, start: str) -> np.ndarray:
        """Values of all variables whose names begin with a word."""
        return np.array(self.instance.getFloat64([self.places[name] for name in self.names(start)]))

    def set(self, start: str, values: Sequence[float]) -> None:
        """Set all variables whose names begin with a word."""
        self.instance.setFloat64([self.places[name] for name in self.names(start)], list(values))

    def initialise(self) -> None:
        """Through initialization mode."""
        self.instance.enterInitializationMode()
        self.instance.exitInitializationMode()


@contextmanager
def open_fmu(path: Path, *, exchanged: bool = False) -> Iterator[FmuInstance]:
    """An instance of an FMU, for Model Exchange or for Co-Simulation."""
    import fmpy
    from fmpy.fmi3 import FMU3Model, FMU3Slave

    description = fmpy.read_model_description(str(path))
    folder = fmpy.extract(str(path))
    try:
        part = description.modelExchange if exchanged else description.coSimulation
        instance = (FMU3Model if exchanged else FMU3Slave)(
            guid=description.guid,
            unzipDirectory=folder,
            modelIdentifier=part.modelIdentifier,
            instanceName="one",
        )
        instance.instantiate()
        yield FmuInstance(instance, description)
        instance.terminate()
        instance.freeInstance()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
