"""Exporting a robot for other engines (MJCF, URDF with its closures, SDF), with a report of losses."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nacelle.errors import ExportError, did_you_mean
from nacelle.exchange.graph import Graph, UniqueNames
from nacelle.exchange.mjcf.write import write_mjcf
from nacelle.exchange.sdf.write import write_sdf
from nacelle.exchange.urdf.write import write_urdf
from nacelle.exchange.write.robot import assembled_graph
from nacelle.files import write_atomically
from nacelle.model.robot import Robot
from nacelle.results import HasTable

# Texts by the endings of their files.
_WRITERS: dict[str, Callable[[Graph], dict[str, str]]] = {
    "mjcf": lambda graph: {".xml": write_mjcf(graph)},
    "urdf": write_urdf,
    "sdf": lambda graph: {".sdf": write_sdf(graph)},
}


@dataclass(frozen=True, eq=False)
class ExportedRobot(HasTable):
    """A robot in a format of another engine.

    Attributes:
        robot: the robot.
        target: "mjcf", "urdf" or "sdf".
        texts: the texts by the endings of their files, that of the robot first; of URDF the closures, too.
        steps: what was done to the mechanism without changing its dynamics, a sentence each.
        losses: what was left out or changed, a sentence each.
        files: what was written; empty if nothing was.
    """

    robot: Robot
    target: str
    texts: Mapping[str, str]
    steps: tuple[str, ...]
    losses: tuple[str, ...]
    files: tuple[Path, ...] = ()

    @property
    def text(self) -> str:
        """The text of the robot."""
        return next(iter(self.texts.values()))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the files, each whole or not at all.

        Args:
            path: the file of the robot, or a folder, in which it gets the robot's name; closures of a URDF go
                next to it, with the ending .yaml.
            overwrite: whether files that exist already are replaced.

        Returns:
            The files.

        Raises:
            ExportError: if a file exists already or cannot be written; nothing is written then.
        """
        first = Path(path)
        endings = list(self.texts)
        if first.is_dir():
            first = first / f"{self.robot.name}{endings[0]}"
        if first.suffix in endings[1:]:
            raise ExportError(f"{first} is the name of a file next to the robot; name it *{endings[0]}")
        files = (first, *(first.with_suffix(ending) for ending in endings[1:]))
        try:
            there = [file for file in files if file.is_file() and not overwrite]
            if there:
                raise ExportError(
                    f"{there[0]} is there already; it is left as it is (overwrite=True, or --force, "
                    "replaces it)"
                )
            if not first.parent.is_dir():
                raise ExportError(f"there is no folder {first.parent}")
            # The robot comes last: where it is, what it needs is there.
            for file, text in reversed(list(zip(files, self.texts.values(), strict=True))):
                write_atomically(file, text)
        except OSError as error:
            raise ExportError(f"cannot write {first}: {error.strerror or error}") from None
        return files


def export_robot(
    robot: Robot,
    target: str,
    *,
    out: str | os.PathLike[str] | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> ExportedRobot:
    """Write a robot for another engine, with its closures in that engine's own way.

    Args:
        robot: the robot.
        target: "mjcf" (MuJoCo, MJX), "urdf" (Pinocchio, with closures as Gepetto's robots have them) or "sdf"
            (Gazebo).
        out: the file to write, or a folder; nothing is written if None.
        name: of the model in the file; the robot's if None.
        overwrite: whether files that exist already are replaced.

    Returns:
        The texts, and the report of what was left out.

    Raises:
        ExportError: if there is no such target, the robot cannot be written, or a file cannot.
    """
    if target not in _WRITERS:
        raise ExportError(f"no engine's format is called {target!r}; {did_you_mean(target, _WRITERS)}")
    graph = assembled_graph(robot)
    if name is not None:
        graph = replace(graph, name=UniqueNames(()).new(name, "robot"))
    texts = _WRITERS[target](graph)
    report = graph.report
    done = ExportedRobot(robot, target, texts, tuple(report.steps), tuple(report.losses))
    return done if out is None else replace(done, files=done.save(out, overwrite=overwrite))
