"""Natural frequencies and modes of a robot with flexible links, at poses and over a workspace.

At a pose ([BK2013], Table II), over the rates r = [z; e] that the closures allow (A r = 0; locked actuators
are rows of A, too):

    M r'' + C r' + K r = 0,      r = N s,      K phi = w^2 M phi on N,      f = w / 2 pi

K of the unloaded robot, or the tangent stiffness at its equilibrium under load (`tangent`). Of light
damping every mode has the ratio phi^T C phi / (2 w). Friction does not count.

With r = N s and N^T M N = L L^T the eigenvalues are those of L^-1 N^T K N L^-T; shapes are phi = N L^-T u,
so that phi^T M phi = 1. Directions without mass are condensed statically first. Motions that deform nothing
(e = 0, springs at rest) are rigid: they are taken out beforehand, exactly, and the others are orthogonal to
them in M.

Over a workspace, at every pose of a grid K phi = w^2 M phi on the rates that the constraints allow
(`modes_on_subspace`), f = w / 2 pi in Hz; poses out of reach have NaN.

How a robot moves in a mode: displacements of its bodies and the lines of its bent links, in base axes.

A point of body b at p is displaced by the mode phi (r,) by

    d = v_b + w_b x (p - p_b),      [v_b; w_b] = J_b phi  (6,), at the body's origin p_b

times a factor; points along a flexible link also by its shape functions. m for mass-normalised shapes times
the factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.frames import ElasticFrames
from nacelle.elastic.linear.matrices import (
    Matrices,
    Subspace,
    body_index,
    jacobian_at,
    mass_jacobian_at,
    matrices_at,
    null_spaces,
    rate_scales,
    straight_frames,
)
from nacelle.errors import KinematicsError, NacelleError
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.flags import Flagged, has_failed
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_scales

if TYPE_CHECKING:
    from nacelle.elastic.linear.statics import StaticDeflection


# Directions with less than this part of the largest mass have none.
_MASSLESS = 1e-13


class Modes(NamedTuple):
    """Modes: w^2 (k,), rad^2/s^2, ascending after `rigid` zeros; shapes (r, k) with phi^T M phi = 1."""

    values: Array
    shapes: Array
    rigid: int


def modes_on_subspace(M: Array, K: Array, N: Array, rigid: Array) -> Modes:
    """The modes on a subspace.

    Args:
        M: mass matrix (r, r).
        K: stiffness matrix (r, r).
        N: basis (r, k) of the rates that are allowed.
        rigid: basis (r, m) of those among them that deform nothing.
    """
    still = np.zeros((M.shape[0], 0))
    if rigid.shape[1]:
        still = rigid @ _whitening_matrix(rigid.T @ M @ rigid)
        # What is left is orthogonal to them in M: the null space of rigid^T M N.
        q, _ = np.linalg.qr((still.T @ M @ N).T, mode="complete")
        N = N @ q[:, still.shape[1] :]
    Mr, Kr = _symmetric(N.T @ M @ N), _symmetric(N.T @ K @ N)
    N, Mr, Kr = _condense_massless(N, Mr, Kr)
    if not N.shape[1]:
        return Modes(np.zeros(still.shape[1]), still, still.shape[1])
    W = _whitening_matrix(Mr)
    values, vectors = np.linalg.eigh(_symmetric(W.T @ Kr @ W))
    shapes = np.concatenate([still, N @ (W @ vectors)], axis=1)
    return Modes(np.concatenate([np.zeros(still.shape[1]), values]), shapes, still.shape[1])


def _symmetric(A: Array) -> Array:
    return np.asarray(0.5 * (A + A.T))


def _whitening_matrix(M: Array) -> Array:
    """W with W^T M W = 1, of a positive definite matrix."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(M)).T)


def _condense_massless(N: Array, M: Array, K: Array) -> tuple[Array, Array, Array]:
    """The subspace and its matrices without massless directions, these moved as statics require."""
    if not N.shape[1]:
        return N, M, K
    try:
        lowest = float(np.min(np.diag(np.linalg.cholesky(M)))) ** 2
    except np.linalg.LinAlgError:
        lowest = 0.0
    if lowest > 1e3 * _MASSLESS * float(np.max(np.diag(M))):
        return N, M, K
    masses, vectors = np.linalg.eigh(M)
    heavy = masses > _MASSLESS * masses[-1]
    if heavy.all():
        return N, M, K
    light = vectors[:, ~heavy]
    # Massless directions that nothing holds move nothing: least squares leaves them out.
    static_motion = np.linalg.lstsq(light.T @ K @ light, light.T @ K @ vectors[:, heavy], rcond=1e-12)[0]
    T = vectors[:, heavy] - light @ static_motion
    return N @ T, T.T @ M @ T, T.T @ K @ T


# ---- natural frequencies and modes of a robot with flexible links ([BK2013], Table II)


# Poses whose modes are found at a time: keeps memory bounded.
_BLOCK = 256


@dataclass(frozen=True, eq=False, repr=False)
class NaturalFrequencies(Flagged, Plottable):
    """Natural frequencies and modes of a robot at poses (...).

    Attributes:
        robot: the robot.
        x: poses (..., nx).
        locked: whether the actuators are locked.
        frequencies: Hz (..., modes), ascending; 0 of rigid motions, NaN where a load makes it unstable, where
            there is no such mode, and out of reach.
        eigenvalues: w^2 (..., modes), rad^2/s^2.
        damping: ratios phi^T C phi / (2 w) (..., modes); NaN of rigid motions.
        shapes: mode shapes (..., r, modes) over the rates r = [z; e], phi^T M phi = 1.
        rigid: how many modes are rigid motions (...).
        rank_gap: smallest singular value of the constraints that counts and largest that does not, over the
            largest of all (..., 2).
        flags: for every pose what was found (`Flag`).
        load: the equilibrium under load about which the modes are; None if unloaded.
        planar: in which directions links deform, as given.
    """

    robot: Robot
    x: Array
    locked: bool
    frequencies: Array
    eigenvalues: Array
    damping: Array
    shapes: Array
    rigid: Array
    rank_gap: Array
    flags: Array
    load: StaticDeflection | None = None
    planar: bool | None = None

    @cached_property
    def model(self) -> Matrices:
        """The linear model at the poses, loaded or not."""
        return matrices_at(self.robot, self.x, self.planar) if self.load is None else self.load.model

    def displacement(self, body: str | None = None) -> Array:
        """Motion [v; w] (..., 6, modes) of a body or tool in every mode, base axes; the platform if None.

        m and rad for mass-normalised shapes (phi^T M phi = 1, kg and m).
        """
        J = self._jacobian(body_index(self.robot, body))
        return np.asarray(J @ self.shapes)

    def _jacobian(self, index: int) -> Array:
        return model_jacobian(self.model, self.load, index, self.planar)

    def _mass_jacobian(self) -> Array:
        return mass_jacobian_at(self.model, self.planar) if self.load is None else self.load.weights

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of what deforms: beams, then drives with a spring."""
        flexible = flexible_tree(self.robot, planar=self.planar)
        drives = (self.robot.joints[drive.joint].name for drive in flexible.springs)
        return (*(shapes.beam.name for shapes in flexible.shapes), *drives)

    @property
    def strain_energy(self) -> Array:
        """What part of a mode's strain energy each of the `parts` has (..., parts, modes).

        What is missing from 1 is in springs of joints, and in the load.
        """
        flexible = flexible_tree(self.robot, planar=self.planar)
        stiffness = [shapes.linear_stiffness for shapes in flexible.shapes]
        stiffness += [np.array([[drive.stiffness]]) for drive in flexible.springs]
        parts = []
        for K, part in zip(stiffness, flexible.rate_slices, strict=True):
            e = self.shapes[..., part, :]
            parts.append(np.sum(e * (K @ e), axis=-2))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.stack(parts, axis=-2) / self.eigenvalues[..., None, :])

    @property
    def modal_mass(self) -> Array:
        """Mass (..., modes), kg, whose vibration where the robot moves most has the energy of the mode.

        The robot's places are its bodies' origins: m = 1 / max |v|^2 over them, v of mass-normalised shapes.
        """
        bodies = range(1, len(self.robot.bodies))
        displacements = np.stack([self._jacobian(k)[..., :3, :] @ self.shapes for k in bodies], axis=-3)
        largest = np.max(np.sum(displacements**2, axis=-2), axis=-2)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / largest)

    @property
    def participation(self) -> Array:
        """Participation factors (..., 3, modes) of accelerations of the base along x, y, z, sqrt(kg).

        phi^T f, f the inertial force of a unit acceleration; squared it is the effective mass of the mode.
        """
        return np.asarray(self._mass_jacobian() @ self.shapes)

    @property
    def effective_mass(self) -> Array:
        """Effective masses (..., 3, modes), kg, along x, y, z; over all modes they add up to what moves."""
        return np.asarray(self.participation**2)

    @property
    def actuator_participation(self) -> Array:
        """How actuators excite modes (..., actuators, modes).

        Of unlocked ones phi^T b, b the generalised force of a unit force of the actuator. Of locked ones
        phi^T M psi, psi the static motion of the robot for a unit motion of the actuator: what its
        acceleration excites.
        """
        model = self.model
        if not self.locked:
            return np.asarray(model.actuators @ self.shapes)
        rows, scale, units = model.rows(True), rate_scales(model.elastic_tree), actuator_scales(self.robot)
        result = np.full((*self.flags.shape, len(units), self.shapes.shape[-1]), np.nan)
        for index, K, N in model.stiffness_and_subspaces(True):
            psi = _actuator_motions(rows[index], K, N, scale, units)
            result[index] = psi.T @ model.M[index] @ self.shapes[index]
        return result

    @cached_property
    def poles(self) -> Array:
        """Eigenvalues (..., 2k), rad/s, of the damped robot, all modes coupled; by |imaginary part|."""
        model = self.model
        spaces = model.stiffness_and_subspaces(self.locked)
        poles = {index: _poles(model.M[index], model.C, K, N) for index, K, N in spaces}
        most = max(map(len, poles.values()), default=0)
        result = np.full((*self.flags.shape, most), np.nan + 0j)
        for index, values in poles.items():
            result[index][: len(values)] = values
        return result


def linear_model(
    robot: Robot, x: Any, *, gravity: bool, external: Mapping[str, Any] | None, planar: bool | None
) -> tuple[Matrices, StaticDeflection | None]:
    """The linear model at poses x (..., nx), with the equilibrium about which it is; None if unloaded."""
    if not gravity and not external:
        return matrices_at(robot, x, planar), None
    from nacelle.elastic.linear.statics import static_deflection

    load = static_deflection(robot, x, gravity=gravity, external=external, planar=planar)
    return load.model, load


def model_jacobian(model: Matrices, load: StaticDeflection | None, index: int, planar: bool | None) -> Array:
    """Jacobian (..., 6, r) of a body or tool, of the straight or of the loaded robot."""
    return jacobian_at(model, index, planar) if load is None else load.jacobian(index)


def natural_frequencies(
    robot: Robot,
    x: Any,
    locked: bool = True,
    *,
    modes: int | None = None,
    gravity: bool = False,
    external: Mapping[str, Any] | None = None,
    planar: bool | None = None,
) -> NaturalFrequencies:
    """Natural frequencies and modes of a robot with flexible links.

    K phi = (2 pi f)^2 M phi on the motions that the closures allow.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame; out of reach gives NaN, of a
            single pose an error.
        locked: whether the actuators are locked; else they move freely, and rigid motions have frequency 0.
        modes: how many, the lowest; all if None.
        gravity: whether the robot hangs in its gravity: frequencies about its equilibrium there.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Returns:
        Frequencies (..., modes) in Hz, shapes, damping and participation.

    Raises:
        KinematicsError: if no link is flexible, or shapes are wrong.
        UnreachableError, SingularError: of a single pose, as in `inverse_kinematics`.
        BucklingError: of a single pose, if the robot buckles under the load.
    """
    if modes is not None and modes < 1:
        raise KinematicsError(f"modes={modes} must be above zero")
    if gravity or external:
        model, load = linear_model(robot, x, gravity=gravity, external=external, planar=planar)
        return replace(_solve_modes(model, locked, modes, True), load=load, planar=planar)
    if np.ndim(x) < 2:
        return replace(_solve_modes(matrices_at(robot, x, planar), locked, modes, False), planar=planar)
    poses = np.asarray(x, dtype=float)
    rows = poses.reshape(-1, poses.shape[-1])
    parts = []
    with task(f"modes of {robot.name} at {len(rows)} poses") as report:
        for first in range(0, max(len(rows), 1), _BLOCK):
            part = matrices_at(robot, rows[first : first + _BLOCK], planar)
            parts.append(_solve_modes(part, locked, modes, False))
            report(min(1.0, (first + _BLOCK) / max(len(rows), 1)))
    return replace(_join_blocks(parts, poses.shape[:-1]), planar=planar)


def _join_blocks(parts: list[NaturalFrequencies], batch: tuple[int, ...]) -> NaturalFrequencies:
    """Parts of a batch as one, of the batch's shape; fewer modes are filled up with NaN."""
    most = max(part.frequencies.shape[-1] for part in parts)

    def join(name: str, padded: bool = True) -> Array:
        arrays = []
        for part in parts:
            array = getattr(part, name)
            if padded:
                wide = np.full((*array.shape[:-1], most), np.nan)
                wide[..., : array.shape[-1]] = array
                array = wide
            arrays.append(array)
        whole = np.concatenate(arrays)
        return whole.reshape(*batch, *whole.shape[1:])

    return replace(
        parts[0],
        frequencies=join("frequencies"),
        eigenvalues=join("eigenvalues"),
        damping=join("damping"),
        shapes=join("shapes"),
        x=join("x", False),
        rigid=join("rigid", False),
        rank_gap=join("rank_gap", False),
        flags=join("flags", False),
    )


def _solve_modes(model: Matrices, locked: bool, number: int | None, loaded: bool) -> NaturalFrequencies:
    """Modes of a linear model."""
    batch, size = model.flags.shape, model.M.shape[-1]
    good = ~has_failed(model.flags)
    A = model.rows(locked)[good]
    spaces = null_spaces(A, rate_scales(model.elastic_tree))
    rigid = _rigid_motions(model, A) if not loaded else [np.zeros((size, 0))] * len(spaces)
    M, K = model.M[good], np.broadcast_to(model.K, model.M.shape)[good]
    all_modes = [
        modes_on_subspace(*each) for each in zip(M, K, [s.basis for s in spaces], rigid, strict=True)
    ]
    most = max((len(modes.values) for modes in all_modes), default=0)
    kept = most if number is None else min(number, most)
    count = len(all_modes)
    values, shapes = np.full((count, kept), np.nan), np.full((count, size, kept), np.nan)
    for k, modes in enumerate(all_modes):
        m = min(kept, len(modes.values))
        values[k, :m], shapes[k, :, :m] = modes.values[:m], modes.shapes[:, :m]
    still = np.array([modes.rigid for modes in all_modes], dtype=np.int64)
    damped = np.einsum("nik,ij,njk->nk", shapes, model.C, shapes) if np.any(model.C) else 0.0 * values
    with np.errstate(invalid="ignore", divide="ignore"):
        w = np.sqrt(values)
        damping = np.where(w > 0.0, damped / (2.0 * w), np.nan)
    gap = np.array([[s.kept, s.largest_dropped] for s in spaces]).reshape(count, 2)
    number_rigid = np.zeros(batch, dtype=np.int64)
    number_rigid[good] = still
    return NaturalFrequencies(
        model.robot,
        model.x,
        locked,
        frequencies=_scatter(w / (2.0 * np.pi), good),
        eigenvalues=_scatter(values, good),
        damping=_scatter(damping, good),
        shapes=_scatter(shapes, good),
        rigid=number_rigid,
        rank_gap=_scatter(gap, good),
        flags=model.flags,
    )


def _scatter(values: Array, good: Array) -> Array:
    """Results of the good samples among all; NaN elsewhere."""
    result = np.full((*good.shape, *values.shape[1:]), np.nan)
    result[good] = values
    return result


def _rigid_motions(model: Matrices, A: Array) -> list[Array]:
    """Motions (r, m) that the constraints allow and that deform nothing: e = 0, springs at rest."""
    nz = len(model.elastic_tree.rigid_rates)
    K = np.broadcast_to(model.K, model.M.shape)[~has_failed(model.flags)][:, :nz, :nz]
    scale = rate_scales(model.elastic_tree)[:nz]
    springs = K * scale[:, None] * scale
    largest = np.max(np.abs(springs), axis=(-2, -1), keepdims=True, initial=0.0)
    rows = np.where(largest > 0.0, springs / np.where(largest > 0.0, largest, 1.0), 0.0) / scale
    spaces: list[Subspace] = null_spaces(np.concatenate([A[:, :, :nz], rows], axis=1), scale)
    whole = []
    for space in spaces:
        full = np.zeros((A.shape[-1], space.basis.shape[1]))
        full[:nz] = space.basis
        whole.append(full)
    return whole


def _actuator_motions(rows: Array, K: Array, N: Array, scale: Array, units: Array) -> Array:
    """Static motions (r, actuators) for unit motions of the locked actuators: the last rows, over `units`."""
    unit_motions = np.eye(len(rows))[:, len(rows) - len(units) :] / units
    psi = scale[:, None] * np.linalg.lstsq(rows * scale, unit_motions, rcond=1e-8)[0]
    static_motion = np.linalg.lstsq(N.T @ K @ N, N.T @ K @ psi, rcond=1e-12)[0]
    return np.asarray(psi - N @ static_motion)


def _poles(M: Array, C: Array, K: Array, N: Array) -> Array:
    """Eigenvalues (2k,) of M r'' + C r' + K r = 0 on a subspace."""
    modes: Modes = modes_on_subspace(M, K, N, np.zeros((len(M), 0)))
    Q = modes.shapes
    k = Q.shape[1]
    system = np.zeros((2 * k, 2 * k))
    system[:k, k:] = np.eye(k)
    system[k:, :k] = -np.diag(modes.values)
    system[k:, k:] = -Q.T @ C @ Q
    values = np.linalg.eigvals(system)
    return np.asarray(values[np.lexsort((values.real, np.abs(values.imag)))])


# ---- natural frequencies over a workspace: a grid of poses, solved together


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyMap(Plottable):
    """Natural frequencies on a grid of poses.

    Attributes:
        grid: the grid: its coordinates, poses, reach and limits.
        modes: the modes at all poses; NaN out of reach.
    """

    grid: Workspace
    modes: NaturalFrequencies

    @property
    def frequencies(self) -> Array:
        """Hz (..., modes), one axis for each coordinate of the grid."""
        return self.modes.frequencies

    def lowest(self, mode: int = 0) -> tuple[float, Array]:
        """The lowest frequency of a mode (Hz) within the limits of the robot, and its pose (nx,)."""
        values = np.where(self.grid.inside_limits, self.frequencies[..., mode], np.nan)
        index = np.unravel_index(int(np.nanargmin(values)), values.shape)
        return float(values[index]), self.modes.x[index]


def frequency_map(
    robot: Robot,
    over: Mapping[str, tuple[float, float] | tuple[float, float, int]],
    *,
    at: Any = None,
    modes: int = 3,
    tool: str | None = None,
    **options: Any,
) -> FrequencyMap:
    """Natural frequencies over one to three coordinates of the pose.

    Args:
        robot: the robot.
        over: the coordinates with their ranges, as in `workspace`.
        at: the pose (nx,) that gives the other coordinates; the reference pose if None.
        modes: how many, the lowest.
        tool: name of a tool whose coordinates vary.
        **options: of `natural_frequencies`: locked, gravity, external, planar.
    """
    grid = workspace(robot, over, at=at, conditioned=False, tool=tool)
    return FrequencyMap(grid, natural_frequencies(robot, grid.x, modes=modes, **options))


# ---- how a robot moves in a mode


# Pieces of which a bent link is drawn.
_PIECES = 24


class ModeShape:
    """Displacements of points in a mode at one pose.

    Attributes:
        modes: the modes.
        frames: the frames about which they are.
        phi: the mode (r,), mass-normalised.
        links: for each flexible link, by the name of its body, its place among the beams.
    """

    def __init__(self, modes: NaturalFrequencies, mode: int) -> None:
        """Take a mode, from 0, of modes at one pose.

        Raises:
            NacelleError: if there is no such mode, or the modes are at several poses.
        """
        if modes.flags.ndim:
            raise NacelleError("the shape of a mode belongs to one pose")
        count = modes.frequencies.shape[-1]
        if not 0 <= mode < count:
            raise NacelleError(f"there is no mode {mode}: {modes.robot.name} has modes 0 to {count - 1} here")
        self.modes, self.phi = modes, modes.shapes[:, mode]
        self.frames = _mode_frames(modes)
        self.links = {shapes.beam.name: k for k, shapes in enumerate(self.frames.elastic_tree.shapes)}

    def twist(self, body: int) -> Array:
        """Twist [v; w] (6,) of a frame at its origin."""
        return (
            np.asarray(self.frames.jacobian(body, self.frames.motion.poses[body].p), dtype=float) @ self.phi
        )

    def at(self, body: int, point: Array) -> Array:
        """Displacement of points (..., 3) of a body."""
        twist, origin = self.twist(body), self.frames.motion.poses[body].p
        return np.asarray(twist[:3] + np.cross(twist[3:], point - origin))

    def link(self, beam: int, factor: float) -> Array:
        """Points (points, 3) along a link, displaced by a factor."""
        flexible = self.frames.elastic_tree
        shapes, part, pose = flexible.shapes[beam], flexible.slices[beam], self.frames.floating_frame(beam)
        e, q = self.phi[flexible.rate_slices[beam]], np.asarray(self.frames.qe[part], dtype=float)
        points = []
        for xi in np.linspace(0.0, 1.0, _PIECES + 1):
            d = shapes.section_motion(float(xi))[:3]
            point = pose.p + pose.R @ (np.array([xi * shapes.beam.length, 0.0, 0.0]) + d @ q)
            points.append(point + factor * (self.at(shapes.beam.body, point) + pose.R @ (d @ e)))
        return np.array(points)

    def pieces(self, beam: int, factor: float) -> Array:
        """A link as pieces (N, 2, 3), displaced by a factor.

        Those along its line come first, then rigid ones from its ends to its joints off them.
        """
        flexible = self.frames.elastic_tree
        link, line = flexible.shapes[beam].beam, self.link(beam, factor)
        pieces = [*np.stack([line[:-1], line[1:]], axis=1)]
        for word, end, joints in (("start", line[0], link.start), ("end", line[-1], link.end)):
            section = flexible.section_of(link.body, word)
            for index in joints:
                joint = flexible.tree.joints[flexible.joint_of[index]]
                frame = joint.frame_predecessor if joint.predecessor == section else joint.frame_successor
                if joint.at_point or section not in (joint.predecessor, joint.successor):
                    continue
                point = (self.frames.motion.poses[section] @ frame).p
                pieces.append(np.array([end, point + factor * self.at(section, point)]))
        return np.array(pieces)

    @cached_property
    def largest(self) -> float:
        """The largest displacement of a link or of a body's origin, for a factor of 1."""
        reach = [self.link(k, 1.0) - self.link(k, 0.0) for k in self.links.values()]
        bodies = range(1, len(self.modes.robot.bodies))
        origins = [self.at(body, self.frames.motion.poses[body].p) for body in bodies]
        return float(np.max(np.linalg.norm(np.concatenate([*reach, origins]), axis=1)))

    def factor(self, size: float) -> float:
        """The factor that makes the largest displacement so large, m."""
        return size / self.largest if self.largest > 0.0 else 0.0


def _mode_frames(modes: NaturalFrequencies) -> ElasticFrames:
    """The frames about which the modes are."""
    if modes.load is not None:
        return modes.load.equilibria[()].state.frames()
    flexible = flexible_tree(modes.robot, planar=modes.planar)
    return straight_frames(flexible, configuration(modes.robot, modes.x, modes.model.y))
