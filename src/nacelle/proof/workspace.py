"""Workspaces with a proof: boxes of poses that are inside, outside, or not decided, by branch and prune.

For a box of poses each number f that is claimed to be positive (`nacelle.proof.region`) has a linear
enclosure

    |f(m + h t) - (c + g . t)| <= e,     |t_i| <= 1.

All of them above 0 and the Jacobian well conditioned on all of the box: the box is inside. One below 0, or
the Jacobian ill conditioned on all of it: it is outside. Where a few numbers f_k change their sign the box
can still be decided but for slabs, of the second order in its widths:

    c_k + g_k . t > e_k for all k: inside,   c_k + g_k . t < -e_k for one k: outside,   else undecided.

Such a box is *cut*. Others are halved across the side that matters most, those with the largest undecided
volume first. The volume of a slab is bounded by the largest density of c + g . t over the box,
min(1/(2 max |g|), sqrt(2)/(2 |g|)) (K. Ball, Cube slicing in R^n, 1986).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.capacity import require_memory
from nacelle.compile.affine import Forms
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.proof.equations import ProofError
from nacelle.proof.region import REST, Margins, PoseRegion, pose_region
from nacelle.proof.regular import bound_conditioning
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array

INSIDE, OUTSIDE, CUT, UNDECIDED = 250, 251, 252, 253
"""Codes of leaves; a smaller code is the side across which a box is halved."""
# Boxes that are evaluated together.
_BLOCK = 4096
# By how much of its width a slab is stated wider to both sides, so that others find it again.
_STATED = 0.02
# Points by which the shares of cut boxes are estimated, for each.
_SAMPLES = 32


class Slabs(NamedTuple):
    """Where numbers that decide over a pose are undecided: with v = c + g . t, between two bounds.

    Attributes:
        form: c and g (..., k + 1): of the signs, and of what decides over the conditioning, which counts by
            |v|.
        low: below it a pose is outside (..., k + 1); NaN: not known.
        high: above it a pose is as claimed; minus infinity where that holds on all of the box.
    """

    form: Forms
    low: Array
    high: Array

    @property
    def parts(self) -> Array:
        """Upper bounds of the undecided part of the box (..., k + 1)."""
        c, g, _ = self.form
        sizes = np.abs(g)
        span = sizes.sum(axis=-1) * (1.0 + 1e-12)
        with np.errstate(all="ignore"):
            density = np.minimum(
                0.5 / sizes.max(axis=-1), math.sqrt(0.5) / np.sqrt((sizes**2).sum(axis=-1))
            ) * (1.0 + 1e-12)
            width = self.high - self.low
            # Of |v| there are two slabs where both signs appear, one from -high to high where low is
            # negative.
            count = (c + span > self.low).astype(float) + (c - span < -self.low)
            both = np.where(self.low > 0.0, width * count, 2.0 * self.high)
            width[..., -1] = both[..., -1]
            part = width * density
        # Nothing is known where it is NaN.
        part = np.where(part < 1.0, np.maximum(part, 0.0), 1.0)
        return np.asarray(np.where(self.high == -np.inf, 0.0, part))


class Decided(NamedTuple):
    """What was found about boxes (N,).

    Attributes:
        code: of each: `INSIDE`, `OUTSIDE`, `CUT` or `UNDECIDED`.
        holding: which signs (N, k), and whether the conditioning, (N, k + 1), are as claimed on all of it.
        open_part: an upper bound of its undecided part, 0 to 1.
        side: the side across which it would be halved.
        slabs: of what does not hold on all of the box.
    """

    code: Array
    holding: Array
    open_part: Array
    side: Array
    slabs: Slabs


def _evaluate(region: PoseRegion, name: str, boxes: Array) -> Forms:
    n = boxes.shape[-2]
    inputs = {
        "u": boxes,
        "rest": np.full(region.rest_count, REST),
        "z": Forms(np.zeros(0), np.zeros((0, n)), np.zeros(0)),
    }
    return next(iter(region.functions[name](inputs).values()))


def decide(region: PoseRegion, boxes: Array, holding: Array) -> Decided:
    """Decide boxes (N, n, 2), of which `holding` (N, k + 1) says what is known to hold on all of each."""
    margin = region.margins.parallel
    signs = _evaluate(region, "signs", boxes)
    bounds = signs.bounds
    holding = np.array(holding)
    holding[:, :-1] |= bounds[..., 0] > 0.0
    outside = np.asarray((bounds[..., 1] < 0.0).any(axis=1))
    count, n = boxes.shape[:2]
    last = Forms(np.full(count, np.nan), np.full((count, n), np.nan), np.zeros(count))
    kept, missed = np.full((2, count), np.nan)
    widest = np.argmax((boxes[..., 1] - boxes[..., 0]) / region.scales, axis=1)
    side = widest.copy()
    ask = np.flatnonzero(~outside & ~holding[:, -1] & np.isfinite(signs.e).all(axis=1))
    if ask.size:
        J = _evaluate(region, "rates", boxes[ask])
        conditioning = bound_conditioning(J, margin)
        with np.errstate(invalid="ignore"):
            holding[ask, -1] = conditioning.lower > margin
            outside[ask] |= conditioning.upper < margin
        last.c[ask], last.g[ask] = conditioning.last.c, conditioning.last.g
        kept[ask], missed[ask] = conditioning.kept, conditioning.missed
        influence = np.abs(J.g).sum(axis=(-3, -2))
        side[ask] = np.where(np.isfinite(influence).all(axis=1), np.argmax(influence, axis=1), widest[ask])
    inside = holding.all(axis=1)
    form = Forms(*(np.concatenate([a, b[:, None]], axis=1) for a, b in zip(signs, last, strict=True)))
    high = np.where(holding, -np.inf, np.concatenate([signs.e, kept[:, None]], axis=1))
    slabs = Slabs(form, np.concatenate([-signs.e, missed[:, None]], axis=1), high)
    parts = slabs.parts
    part = np.minimum(parts.sum(axis=1), 1.0)
    part[inside | outside] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.abs(form.g) / np.abs(form.g).sum(axis=-1)[..., None]
        weight = np.where(holding[..., None], 0.0, parts[..., None] * weight).sum(axis=1)
    known = np.isfinite(weight).all(axis=1) & (holding[:, -1] | (parts[:, -1] < 1.0))
    side = np.where(known, np.argmax(weight, axis=1), side)
    code = np.where(inside, INSIDE, np.where(outside, OUTSIDE, np.where(part < 1.0, CUT, UNDECIDED)))
    return Decided(code.astype(np.uint8), holding, part, side, slabs)


class Shares(NamedTuple):
    """Shares of the volume of the coordinates; those of inside and outside add what is left of cut boxes.

    Attributes:
        inside: of poses that are taken, estimated in cut boxes.
        outside: of those that are not, likewise.
        undecided: an upper bound of the rest.
    """

    inside: float
    outside: float
    undecided: float


class Cuts(NamedTuple):
    """The slabs of cut boxes, in single precision.

    Attributes:
        leaf: index of the leaf (M,), ascending.
        sign: index of the number that is not decided (M,), in `PoseRegion.sign_names`; one more for the
            conditioning, which counts by |v|.
        form: c, g, low and high (M, n + 3) of `Slabs`.
    """

    leaf: Array
    sign: Array
    form: Array


@dataclass(frozen=True, eq=False, repr=False)
class ProvenWorkspace(Plottable):
    """A box of poses, decided.

    Attributes:
        region: the box and what is claimed.
        tree: codes of all boxes by levels: a side across which a box is halved, or what is known of it.
        cuts: the slabs of cut boxes.
        evaluated: how many boxes were evaluated.
    """

    region: PoseRegion
    tree: Array
    cuts: Cuts
    evaluated: int

    @cached_property
    def leaves(self) -> tuple[Array, Array]:
        """The boxes (N, n, 2) that were not halved further, and their codes (N,)."""
        return leaf_boxes(self.tree, self.region.box)

    @cached_property
    def volumes(self) -> Array:
        """Volumes of the leaves as parts of all (N,)."""
        widths = np.diff(self.region.box, axis=1)[:, 0]
        boxes, _ = self.leaves
        return np.asarray(np.prod((boxes[..., 1] - boxes[..., 0]) / widths, axis=1))

    @cached_property
    def shares(self) -> Shares:
        """The shares of the volume."""
        (_, codes), volumes = self.leaves, self.volumes
        undecided = float(volumes[codes == UNDECIDED].sum() + self._cut_parts @ volumes)
        cut = np.flatnonzero(codes == CUT)
        points = np.random.default_rng(0).uniform(-1.0, 1.0, (len(cut), _SAMPLES, len(self.region.names)))
        decision = self._classify(np.repeat(cut, _SAMPLES), points.reshape(-1, points.shape[-1]))
        of_cut = np.repeat(volumes[cut] / _SAMPLES, _SAMPLES)
        inside = float(volumes[codes == INSIDE].sum() + of_cut[decision == INSIDE].sum())
        outside = float(volumes[codes == OUTSIDE].sum() + of_cut[decision == OUTSIDE].sum())
        return Shares(inside, outside, undecided)

    @cached_property
    def _cut_parts(self) -> Array:
        """Upper bounds of the undecided part of every leaf that is cut (N,)."""
        parts = np.zeros(len(self.volumes))
        form = self.cuts.form.astype(float)
        none = np.zeros(len(form))
        # Signs in the first column, the conditioning in the last.
        both = np.stack([form, form], axis=1)
        slabs = Slabs(Forms(both[..., 0], both[..., 1:-2], none), both[..., -2], both[..., -1])
        conditions = self.cuts.sign == len(self.region.sign_names)
        np.add.at(parts, self.cuts.leaf, np.where(conditions, slabs.parts[:, 1], slabs.parts[:, 0]))
        return np.minimum(parts, 1.0)

    @property
    def decided(self) -> float:
        """The share that is proved inside or outside, a lower bound."""
        return 1.0 - self.shares.undecided

    def classify(self, u: Any) -> Array:
        """What is proved of poses with coordinates u (N, n): `INSIDE`, `OUTSIDE` or `UNDECIDED`, (N,).

        Poses on the boundary between two boxes are those of the box above.
        """
        points = np.asarray(u, dtype=float).reshape(-1, len(self.region.names))
        leaf = find_leaves(self.tree, self.region.box, points)
        boxes, _ = self.leaves
        low, high = boxes[leaf, :, 0], boxes[leaf, :, 1]
        return self._classify(leaf, (points - 0.5 * (low + high)) / (0.5 * (high - low)))

    def _classify(self, leaf: Array, t: Array) -> Array:
        """What is proved at t (N, n) of leaves (N,)."""
        _, codes = self.leaves
        result = codes[leaf].astype(np.uint8)
        first = np.searchsorted(self.cuts.leaf, leaf, side="left")
        last = np.searchsorted(self.cuts.leaf, leaf, side="right")
        cut = result == CUT
        above, below = np.ones(len(leaf), dtype=bool), np.zeros(len(leaf), dtype=bool)
        for k in range(int((last - first)[cut].max(initial=0))):
            rows = np.flatnonzero(cut & (first + k < last))
            form = self.cuts.form[first[rows] + k].astype(float)
            value = form[:, 0] + (form[:, 1:-2] * t[rows]).sum(axis=1)
            conditions = self.cuts.sign[first[rows] + k] == len(self.region.sign_names)
            value = np.where(conditions, np.abs(value), value)
            # Rounding of the value itself.
            e = 1e-13 * np.abs(form[:, :-2]).sum(axis=1)
            above[rows] &= value - e > form[:, -1]
            below[rows] |= value + e < form[:, -2]
        result[cut] = np.where(below, OUTSIDE, np.where(above, INSIDE, UNDECIDED))[cut]
        return result

    @property
    def title(self) -> str:
        """Title of the result."""
        return f"{self.region.robot.name}: proved workspace over {', '.join(self.region.names)}"


def leaf_boxes(tree: Array, box: Array) -> tuple[Array, Array]:
    """Boxes (N, n, 2) of the leaves of a tree of codes by levels, in its order, and their codes (N,)."""
    level, position, boxes, codes = box[None].astype(float), 0, [], []
    while len(level):
        code = tree[position : position + len(level)]
        position += len(level)
        leaf = code >= INSIDE
        boxes.append(level[leaf])
        codes.append(code[leaf])
        level = halve_boxes(level[~leaf], code[~leaf].astype(int))
    return np.concatenate(boxes), np.concatenate(codes)


def halve_boxes(boxes: Array, side: Array) -> Array:
    """Both halves of boxes (N, n, 2) across sides (N,), one behind the other (2 N, n, 2)."""
    rows = np.arange(len(boxes))
    middle = 0.5 * (boxes[rows, side, 0] + boxes[rows, side, 1])
    result = np.repeat(boxes, 2, axis=0)
    result[2 * rows, side, 1] = middle
    result[2 * rows + 1, side, 0] = middle
    return result


def find_leaves(tree: Array, box: Array, points: Array) -> Array:
    """For points (N, n) of a box the indices (N,) of the leaves that they are in."""
    result = np.full(len(points), -1)
    lows, highs = (
        np.repeat(box[None, :, 0], len(points), axis=0),
        np.repeat(box[None, :, 1], len(points), axis=0),
    )
    node, rows = np.zeros(len(points), dtype=np.int64), np.arange(len(points))
    position, width, leaves = 0, 1, 0
    while rows.size:
        code = tree[position : position + width]
        is_leaf = code >= INSIDE
        before: Array = np.cumsum(is_leaf) - is_leaf
        here = code[node[rows]]
        done = here >= INSIDE
        result[rows[done]] = leaves + before[node[rows[done]]]
        rows, side = rows[~done], here[~done].astype(int)
        middle = 0.5 * (lows[rows, side] + highs[rows, side])
        upper = points[rows, side] >= middle
        lows[rows, side] = np.where(upper, middle, lows[rows, side])
        highs[rows, side] = np.where(upper, highs[rows, side], middle)
        node[rows] = 2 * (node[rows] - before[node[rows]]) + upper
        position, leaves = position + width, leaves + int(is_leaf.sum())
        width = 2 * int((~is_leaf).sum())
    return result


class _Boxes:
    """The boxes of a search; children lie side by side."""

    def __init__(self, region: PoseRegion, capacity: int) -> None:
        n, signs = len(region.names), len(region.sign_names) + 1
        require_memory("boxes", capacity, 16 * n + signs + 32, "take a smaller budget of boxes")
        self.box = np.empty((capacity, n, 2))
        self.holding = np.zeros((capacity, signs), dtype=bool)
        self.code = np.empty(capacity, dtype=np.uint8)
        self.side = np.empty(capacity, dtype=np.uint8)
        self.open_volume = np.zeros(capacity)
        self.child = np.zeros(capacity, dtype=np.int64)
        self.size = 0
        self._total = float(np.prod(np.diff(region.box, axis=1)))
        self._region = region

    def add(self, boxes: Array, holding: Array) -> None:
        """Evaluate boxes and keep them."""
        for first in range(0, len(boxes), _BLOCK):
            part = slice(first, first + _BLOCK)
            decision = decide(self._region, boxes[part], holding[part])
            here = slice(self.size, self.size + len(decision.code))
            self.box[here] = boxes[part]
            self.code[here], self.holding[here], self.side[here] = (
                decision.code,
                decision.holding,
                decision.side,
            )
            volumes = np.prod(boxes[part, :, 1] - boxes[part, :, 0], axis=1) / self._total
            self.open_volume[here] = decision.open_part * volumes
            self.size = here.stop

    def tree(self) -> Array:
        """The codes by levels."""
        codes, level = [], np.zeros(1, dtype=np.int64)
        while level.size:
            halved = self.child[level] > 0
            codes.append(np.where(halved, self.side[level], self.code[level]))
            first = self.child[level[halved]]
            level = np.stack([first, first + 1], axis=1).ravel()
        return np.concatenate(codes).astype(np.uint8)


def _find_cuts(region: PoseRegion, boxes: Array, codes: Array) -> Cuts:
    """The slabs of the leaves (N, n, 2) that are cut, of all that does not hold on the leaf alone."""
    leaves, signs, forms = [], [], []
    cut = np.flatnonzero(codes == CUT)
    n, count = boxes.shape[1], len(region.sign_names) + 1
    for first in range(0, len(cut), _BLOCK):
        rows = cut[first : first + _BLOCK]
        decision = decide(region, boxes[rows], np.zeros((len(rows), count), dtype=bool))
        which = ~decision.holding
        row, sign = np.nonzero(which)
        leaves.append(rows[row])
        signs.append(sign)
        (c, g, _), low, high = decision.slabs.form, decision.slabs.low[which], decision.slabs.high[which]
        c, g = c[which], g[which]
        c32, g32 = c.astype(np.float32), g.astype(np.float32)
        widening = 1.0000001 * (np.abs(c - c32) + np.abs(g - g32).sum(axis=1)) + _STATED * (high - low)
        ends = np.stack([low - widening, high + widening], axis=1).astype(np.float32)
        ends = np.nextafter(ends, np.array([-np.inf, np.inf], dtype=np.float32))
        forms.append(np.concatenate([c32[:, None], g32, ends], axis=1))
    return Cuts(
        np.concatenate([np.zeros(0, dtype=np.int64), *leaves]),
        np.concatenate([np.zeros(0, dtype=np.uint8), *signs]).astype(np.uint8),
        np.concatenate([np.zeros((0, n + 3), dtype=np.float32), *forms]),
    )


def prove_workspace(
    robot: Robot,
    over: Mapping[str, tuple[float, float]],
    *,
    at: Any = None,
    serial: float = 1e-3,
    parallel: float = 1e-2,
    decided: float = 0.99,
    boxes: int = 400_000,
) -> ProvenWorkspace:
    """Decide a box of poses: which are proved inside the workspace, which outside.

    Inside are poses that are reached on the branch of the reference pose, within all limits as they are
    described, and with the margins from singularities.

    Args:
        robot: the robot.
        over: (lowest, highest) of coordinates of the motion, m or rad; of a free orientation rx, ry, rz are
            components of a rotation vector in base axes that turns it from that of `at`.
        at: the pose (nx,) that gives the other coordinates; the reference pose if None.
        serial: margin that every leg is to keep from serial singularities (`InverseKinematics.margins`).
        parallel: inverse condition number that the scaled Jacobian is to keep (`Jacobian.conditioning`).
        decided: the share of the volume at which the search ends.
        boxes: how many boxes are evaluated at most.

    Raises:
        ProofError: if a coordinate or a range is wrong, or the robot cannot be treated.
    """
    region = pose_region(robot, over, at, Margins(serial, parallel))
    if not 0.0 < decided <= 1.0:
        raise ProofError(f"decided = {decided} is a share: a number above 0, at most 1")
    if boxes < 1:
        raise ProofError(f"boxes = {boxes}: at least one box is evaluated")
    return search_region(region, decided, boxes)


def search_region(region: PoseRegion, decided: float, boxes: int) -> ProvenWorkspace:
    """Branch and prune over a region, until a share is decided or as many boxes are evaluated."""
    kept = _Boxes(region, boxes + 2)
    kept.add(region.box[None], np.zeros((1, len(region.sign_names) + 1), dtype=bool))
    leaves = np.zeros(1, dtype=np.int64)
    # Slabs are stated wider than they were found.
    allowed = (1.0 - decided) / (1.0 + 2.5 * _STATED)
    with task(f"boxes of {region.robot.name}") as report:
        while kept.size < boxes:
            volumes = kept.open_volume[leaves]
            total = float(volumes.sum())
            report(min(1.0, kept.size / boxes))
            if total <= allowed:
                break
            # Of many leaves many are halved at a time: each time all of them are looked through.
            count = max(_BLOCK // 2, len(leaves) // 16)
            count = min(count, (boxes - kept.size + 1) // 2, int(np.count_nonzero(volumes)))
            worst = np.argpartition(volumes, len(volumes) - count)[len(volumes) - count :]
            chosen = np.sort(leaves[worst])
            first = kept.size
            halves = halve_boxes(kept.box[chosen], kept.side[chosen].astype(int))
            kept.add(halves, np.repeat(kept.holding[chosen], 2, axis=0))
            kept.child[chosen] = first + 2 * np.arange(count)
            added = np.arange(first, kept.size)
            leaves = np.concatenate([np.delete(leaves, worst), added[kept.open_volume[added] > 0.0]])
    tree = kept.tree()
    return ProvenWorkspace(region, tree, _find_cuts(region, *leaf_boxes(tree, region.box)), kept.size)
