"""Studies: what is best, what tolerances do, how quantities spread over a workspace.

    study = nacelle.Study("delta.yaml")
    result = study.run("results")          # a folder that can be resumed; or on a cluster: cluster="tcp://..."
    result.variants["peak"]

A study is divided into blocks of variants that do not depend on each other, nor on who evaluates them:
results are the same, byte for byte, for any number of processes of one architecture. An optimisation has a
generation for a block; resumed, it asks the optimiser again and tells it what is known.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle import robots
from nacelle.compile.compiled import cores
from nacelle.compile.packed import package_hash
from nacelle.control.scenario.scenario import with_load
from nacelle.control.yaml_input import read_specification
from nacelle.distribution import __version__
from nacelle.errors import DescriptionError, StudyError, did_you_mean, format_count
from nacelle.library import load, looks_like_file, require_file
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.spatial.scalar import Array
from nacelle.studies import designs
from nacelle.studies.build import StudyBuilder
from nacelle.studies.evaluate import Evaluator
from nacelle.studies.executors import run_blocks
from nacelle.studies.folder import ResultFolder
from nacelle.studies.optimise import Gradients, OptimisationProblem, Optimiser, optimiser
from nacelle.studies.result import StudyResult
from nacelle.studies.spec import OptimiseSpec, StudySpec
from nacelle.studies.table import StudyTable

# A block has about this many states of variants, and between so many variants; a study has about so many
# blocks at least, so that several cores have work and a run that ends loses little.
_STATES, _FEWEST, _MOST, _BLOCKS = 200_000, 16, 4096, 64
# A device is busy with so many variants at a time.
_DEVICE_BLOCK = 1 << 20
TARGETS = ("jit", "cuda")
STATUS, REASON = "status", "reason"


@dataclass(frozen=True)
class StudyTexts:
    """All that a study is made of, as text: what other machines are sent.

    Attributes:
        study: the study, JSON of its mapping.
        robot: the YAML text of the robot.
        label: file or name of the robot.
        files: names and contents of the files that the study names.
        target: "jit" or "cuda".
    """

    study: str
    robot: str
    label: str
    files: tuple[tuple[str, str], ...]
    target: str

    @property
    def key(self) -> str:
        """Hash of all that decides results: the texts, nacelle's source, the architecture."""
        parts = [self.study, self.robot, *(part for file in self.files for part in file)]
        parts += [package_hash(), platform.machine(), self.target]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class StudyEstimate:
    """What a study takes.

    Attributes:
        variants: how many there are, of an optimisation at most.
        blocks: into which they are divided.
        seconds: of one core, once its programs are compiled.
        size: bytes of its results in memory.
    """

    variants: int
    blocks: int
    seconds: float
    size: int

    @property
    def text(self) -> str:
        """All of it in a line."""
        return (
            f"{format_count(self.variants, 'variant')} in {format_count(self.blocks, 'block')}: about "
            f"{self.seconds:.3g} s of one core, {self.size / 1e6:.3g} MB of results"
        )


class Study:
    """A study of a robot's variants.

    Args:
        source: a YAML file, its text if that has more than one line, or a mapping of the same shape.
        robot: the robot, by its name or file; that of the study if None.
        target: "jit"; or "cuda", where a device finds the quantities of drives along motions.

    Raises:
        DescriptionError: with all problems, each with file, line and column.
    """

    def __init__(
        self, source: str | Path | Mapping[str, Any], robot: str | None = None, *, target: str = "jit"
    ) -> None:
        if target not in TARGETS:
            raise StudyError(f"no target of studies is called {target!r}; {did_you_mean(target, TARGETS)}")
        self.target = target
        self.spec, self._source = read_specification(StudySpec, source)
        self._folder = Path(self._source.file).parent
        named = robot or self.spec.robot
        if named is None:
            hint = "add `robot: delta`, or name a robot with the study"
            raise DescriptionError([self._source.problem((), "the study names no robot", hint)])
        self._label = named
        self.name = self.spec.study or Path(self._source.file).stem

    # ---- the robot and its evaluation

    @cached_property
    def robot(self) -> Robot:
        """The nominal robot."""
        robot, load_spec = load(self._robot_file or self._label), self.spec.payload
        return robot if load_spec is None else with_load(robot, load_spec)

    @property
    def _robot_file(self) -> Path | None:
        path = self._folder / self._label
        return path if path.is_file() else None

    @cached_property
    def _files(self) -> dict[str, str]:
        return {}

    @cached_property
    def evaluator(self) -> Evaluator:
        """What evaluates variants, compiled at its first call."""
        return StudyBuilder(self.spec, self._source, self._folder, self._files, []).build(
            self.robot, self.target
        )

    def prepare(self) -> Evaluator:
        """Make the evaluator, which reads the files that quantities and motions name."""
        return self.evaluator

    def evaluate(self, values: Any) -> StudyTable:
        """Evaluate variants with values of the variables (N, P), SI units, in the order of the study."""
        return self.evaluator(values)

    def gradient(self, values: Any) -> Array:
        """Derivatives of the quantities by the variables (N, K, P) at values (N, P)."""
        return self.evaluator.gradient(values)

    @property
    def count(self) -> int:
        """How many variants there are; of an optimisation at most."""
        spec = self.spec
        if spec.optimise is not None:
            return spec.optimise.evaluations
        if spec.sample is None or spec.sample.method != "sensitivity":
            return len(self._grid) if spec.is_grid else (spec.sample.count if spec.sample else 1024)
        return spec.sample.count * (len(self.evaluator.space.variables) + 2)

    def points(self, rows: range) -> Array:
        """Points of the unit cube (n, P) of some variants."""
        spec, P = self.spec, len(self.evaluator.space.variables)
        method = "sobol" if spec.sample is None else spec.sample.method
        count = 1024 if spec.sample is None else spec.sample.count
        if method == "grid":
            return designs.grid(self._levels, rows)
        if method == "sensitivity":
            return self._saltelli.points(rows)
        make = {
            "sobol": designs.sobol,
            "latin-hypercube": designs.latin_hypercube,
            "monte-carlo": designs.random_points,
        }[method]
        return make(count, P, spec.seed, rows)

    @property
    def _grid(self) -> range:
        return range(int(np.prod(self._levels)))

    @property
    def _levels(self) -> list[int]:
        return [variable.levels for variable in self.evaluator.space.variables]

    @cached_property
    def _saltelli(self) -> designs.SaltelliDesign:
        assert self.spec.sample is not None
        return designs.saltelli(self.spec.sample.count, len(self.evaluator.space.variables), self.spec.seed)

    @property
    def block(self) -> int:
        """How many variants a block has."""
        if self.spec.optimise is not None:
            return self.spec.optimise.population
        if self.spec.block is not None:
            return self.spec.block
        states = sum(len(of.states) for of in self.evaluator.sets.values())
        if self.target == "cuda":
            return _DEVICE_BLOCK
        return int(max(_FEWEST, min(_MOST, _STATES // max(1, states), -(-self.count // _BLOCKS))))

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return -(-self.count // self.block)

    @property
    def texts(self) -> StudyTexts:
        """All that it is made of."""
        file = self._robot_file
        self.prepare()
        for path in self._path_files():
            self._files[path] = (self._folder / path).read_text(encoding="utf-8")
        if file is None and looks_like_file(self._label):
            require_file(self._label)
            file = Path(self._label)
        text = robots.text(self._label) if file is None else file.read_text(encoding="utf-8")
        plain = json.dumps(self._source.root.plain())
        return StudyTexts(plain, text, self._label, tuple(sorted(self._files.items())), self.target)

    def _path_files(self) -> Iterator[str]:
        for motion in self.spec.motions.values():
            if motion.through is not None and motion.through.file is not None:
                yield motion.through.file

    # ---- running it

    def estimate(self) -> StudyEstimate:
        """How large the study is, and how long it takes: measured on its first block, once compiled."""
        first = None if self.spec.optimise is None else self._optimiser(self.spec.optimise).ask()
        plan = StudyPlan(self.texts, self.block, self.blocks, first)
        plan.evaluate(0)
        start = time.perf_counter()
        columns = plan.evaluate(0)
        seconds = time.perf_counter() - start
        size = sum(column.nbytes for column in columns.values())
        return StudyEstimate(self.count, self.blocks, self.blocks * seconds, self.blocks * size)

    def run(
        self,
        folder: str | Path | None = None,
        *,
        cluster: str | None = None,
        threads: int | None = None,
    ) -> StudyResult:
        """Evaluate all variants, or search for the best.

        Args:
            folder: where results are kept; a folder that holds part of this study is resumed. In memory alone
                if None.
            cluster: address of a Dask scheduler, "tcp://..."; on this machine if None.
            threads: how many blocks this machine evaluates at once; as many as cores if None.

        Raises:
            StudyError: if the folder holds another study or cannot be written, or the cluster is lost; what
                was found stays in the folder.
        """
        texts = self.texts
        # Generations become smaller where searches end one by one, but have a variant at least.
        blocks = self.blocks if self.spec.optimise is None else self.count
        kept: dict[int, dict[str, NDArray[Any]]] = {}
        names = (column.name for column in self.evaluator.columns)
        kinds = {**dict.fromkeys(names, "float64"), STATUS: "int64", REASON: "str"}
        metadata = {
            "key": texts.key,
            "blocks": blocks,
            "columns": kinds,
            "study": json.loads(texts.study),
            "robot": texts.robot,
            "files": dict(texts.files),
            "target": self.target,
            "versions": {
                "nacelle": __version__,
                "source": package_hash()[:12],
                "numpy": np.__version__,
                "machine": platform.machine(),
            },
        }
        # What it lacks is said before a folder is begun.
        search = None if self.spec.optimise is None else self._optimiser(self.spec.optimise)
        with nullcontext() if folder is None else ResultFolder.open(Path(folder), metadata) as results:
            missing = list(range(blocks)) if results is None else results.missing_blocks()
            if results is not None:
                kept |= {k: results.read([k]) for k in sorted(set(range(blocks)) - set(missing))}

            def keep(k: int, columns: dict[str, NDArray[Any]]) -> None:
                if results is not None:
                    results.write(k, columns)
                kept[k] = columns

            if search is None:
                plan = StudyPlan(texts, self.block, self.blocks)
                run_blocks(plan, missing, keep, threads=threads or cores(), address=cluster)
            else:
                self._search(search, texts, kept, keep, cluster=cluster, threads=threads)
        whole = {name: np.concatenate([kept[k][name] for k in sorted(kept)]) for name in kinds}
        return StudyResult(self.name, self.spec, self.evaluator, self._table_of(whole))

    def _optimiser(self, spec: OptimiseSpec) -> Optimiser:
        problem = OptimisationProblem(
            variables=len(self.evaluator.space.variables),
            objectives=len(spec.minimise) + len(spec.maximise),
            constraints=len(self.evaluator.constraints),
            seed=self.spec.seed,
            budget=spec.evaluations,
            population=spec.population,
        )
        return optimiser(spec.optimiser, problem)

    def _search(
        self,
        search: Optimiser,
        texts: StudyTexts,
        kept: dict[int, Any],
        keep: Any,
        *,
        cluster: str | None,
        threads: int | None,
    ) -> None:
        """Ask the optimiser, evaluate, tell it; known generations are not evaluated again."""
        evaluator, spec = self.evaluator, self.spec.optimise
        assert spec is not None
        objectives = [*spec.minimise, *spec.maximise]
        signs = np.array([1.0] * len(spec.minimise) + [-1.0] * len(spec.maximise))
        k, done = 0, 0
        with task(f"optimising {self.name}") as report:
            while not search.done:
                points = search.ask()
                if k not in kept:
                    keep(k, _evaluate_points(texts, points, cluster, threads))
                table = self._table_of(kept[k])
                goals = signs * np.stack([table[name] for name in objectives], axis=1)
                goals[~table.ok] = np.nan
                gradients = None
                if search.wants_gradient:
                    gradients = self._gradients(points, objectives, signs)
                search.tell(points, goals, evaluator.violations(table), gradients)
                k, done = k + 1, done + len(points)
                report(min(1.0, done / spec.evaluations))

    def _gradients(self, points: Array, objectives: list[str], signs: Array) -> Gradients:
        """Of objectives and constraints by the points of the unit cube."""
        evaluator, P = self.evaluator, points.shape[1]
        steps, offsets = 1e-4, np.array([-1.0, 1.0])
        displaced = np.repeat(points[:, None, None], P, axis=1) * np.ones((1, 1, 2, 1))
        for p in range(P):
            displaced[:, p, :, p] += offsets * steps
        table = evaluator(evaluator.space.values_at(displaced.reshape(-1, P)))
        f = signs * np.stack([table[name] for name in objectives], axis=1)
        g = evaluator.violations(table)

        def differences(of: Array) -> Array:
            part = of.reshape(len(points), P, 2, -1)
            with np.errstate(invalid="ignore"):
                return np.moveaxis((part[:, :, 1] - part[:, :, 0]) / (2.0 * steps), 1, 2)

        return Gradients(differences(f), differences(g))

    def _table_of(self, columns: Mapping[str, NDArray[Any]]) -> StudyTable:
        names = [column.name for column in self.evaluator.columns]
        return StudyTable(
            self.evaluator.columns,
            np.stack([columns[name] for name in names], axis=1),
            columns[STATUS],
            columns[REASON],
        )


# ---- blocks, wherever they are evaluated


@dataclass(frozen=True)
class StudyPlan:
    """The blocks of a study.

    Attributes:
        texts: the study.
        size: variants of a block.
        count: number of blocks.
        points: of the unit cube (N, P); those of the study's own design if None.
    """

    texts: StudyTexts
    size: int
    count: int
    points: Array | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Hash of all that decides results."""
        if self.points is None:
            return self.texts.key
        return hashlib.sha256(self.texts.key.encode() + self.points.tobytes()).hexdigest()

    def evaluate(self, k: int) -> dict[str, NDArray[Any]]:
        """Columns of a block."""
        study = _warm_study(self.texts)
        if self.points is None:
            points = study.points(range(k * self.size, min((k + 1) * self.size, study.count)))
        else:
            points = self.points[k * self.size : (k + 1) * self.size]
        table = study.evaluate(study.evaluator.space.values_at(points))
        columns: dict[str, NDArray[Any]] = {name: table[name] for name in table.names}
        return {**columns, STATUS: table.status, REASON: table.reason}


@lru_cache(maxsize=4)
def _warm_study(texts: StudyTexts) -> Study:
    """The study in this process, from its texts; its programs are compiled once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (*texts.files, (_ROBOT, texts.robot)):
            path = folder / file
            if not path.resolve().is_relative_to(folder.resolve()):
                raise StudyError(f"the file {file!r} is not in the study's folder or below it")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (folder / _STUDY).write_text(texts.study, encoding="utf-8")
        study = Study(folder / _STUDY, _ROBOT, target=texts.target)
        study.prepare()  # while its files are there
    return study


_STUDY, _ROBOT = "study.json.yaml", "robot-of-study.yaml"


def _evaluate_points(
    texts: StudyTexts, points: Array, cluster: str | None, threads: int | None
) -> dict[str, NDArray[Any]]:
    """Columns of variants at points (N, P), found side by side."""
    size = max(_FEWEST, -(-len(points) // 64)) if cluster else max(_FEWEST, -(-len(points) // 2))
    plan = StudyPlan(texts, size, -(-len(points) // size), points)
    parts: dict[int, dict[str, NDArray[Any]]] = {}
    run_blocks(plan, list(range(plan.count)), parts.__setitem__, threads=threads or cores(), address=cluster)
    return {name: np.concatenate([parts[k][name] for k in sorted(parts)]) for name in parts[0]}
