"""From a measurement to samples of motion and force that an estimator takes.

Encoders are filtered without phase (`filters`), differentiated, and turned into the motion of the platform
(`poses`). What the filters take away is chosen from the data, from the band f_b of the measured motion and
the noise of the encoders. Joints with dry friction move with jumps of acceleration, which a low cutoff blurs:
the cutoff is as high as keeps the noise of the rates below 0.3 %, but at least 5 f_b. The decimation keeps
8 f_b of regressor and forces alike, or what the filter leaves. Forces are recorded later than the motion by a
drive's own delay, which is taken back. Where forces shake the robot beyond the cutoff more than the noise of
the rates, and by more than 0.3 % of them, the rates have that vibration, too (`vibration_from_forces`).

Errors of encoders act on the regressor and bias ordinary least squares. Instruments are motions that do not
have these errors: the reference that the controller was given, or, where it was not recorded, splines of
least squares through the encoders with so few coefficients that hardly any noise is left in them.

Vibration: rates beyond the filter of the encoders, from the forces.

A controller that answers to noisy encoders shakes the robot. The encoders' filter takes that away with their
noise, and in a closed loop their spectrum does not even show it: what shakes is what the loop has done about
the noise. Dry friction of a slow joint changes its sign with the true rate all the same, is less on average
than the filtered rate says, and would be estimated too small. Forces show the vibration, since they make it.
With H the filter, Gamma_0 the forces that the description requires along the filtered motion without its
accelerations (they jump where joints with dry friction reverse), and M, J_a nearly constant over a period of
the cutoff,

    v - H v = M^-1 J_a^T (1 - H) p,    p = integral of (Gamma - Gamma_0) dt     J_a = J_r^-1 (actuators, n)

M is that of the description: good to 20 %, it leaves a fifth of the effect. Noise of the measured forces is
integrated and hardly counts. Accelerations are left alone: from forces they would say what one believes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.jacobian import jacobian
from nacelle.errors import IdentificationError
from nacelle.identification.data.filters import (
    HALF_LENGTH,
    derivatives,
    low_pass,
    motion_band,
    settling_samples,
)
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.poses import PlatformMotion, motion_from_rates, path_poses
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.trajectory.bspline import basis_functions, clamped_knots


def vibration_from_forces(
    robot: Robot, motion: PlatformMotion, force: Array, cutoff: float, rate: float
) -> tuple[Array, Array]:
    """Reduced twists v - H v (N, n) and the rates of the actuators that they are (N, actuators).

    Both are zero where there is no pose, or no inertia.

    Args:
        robot: the robot as it is described.
        motion: H applied, (N, ...).
        force: of the actuators (N, actuators), N or N m.
        cutoff: of the filter, Hz.
        rate: samples a second.
    """
    v, rates = np.zeros((len(force), robot.motion.n)), np.zeros(force.shape)
    off = np.zeros(force.shape)
    indices = np.flatnonzero(motion.ok)
    if not indices.size:
        return v, rates
    x = motion.x[indices]
    off[indices] = force[indices] - inverse_dynamics(robot, x, motion.v[indices]).tau
    impulse = high_pass_impulse(np.nan_to_num(off), cutoff, rate)[indices]
    M, J_a = mass_matrix(robot, x), jacobian(robot, x).inverse
    sound = np.all(np.isfinite(M), axis=(1, 2)) & np.all(np.isfinite(J_a), axis=(1, 2))
    sound[sound] = np.linalg.eigvalsh(M[sound])[:, 0] > 0.0
    along = np.einsum("tan,ta->tn", J_a[sound], impulse[sound])
    v[indices[sound]] = np.linalg.solve(M[sound], along[..., None])[..., 0]
    rates[indices[sound]] = np.einsum("tan,tn->ta", J_a[sound], v[indices[sound]])
    return v, rates


def high_pass_impulse(force: Array, cutoff: float, rate: float) -> Array:
    """(1 - H) p of forces (N, actuators), N s or N m s, p by the trapezoidal rule.

    The filter passes straight lines, so p is taken from the line between its ends.
    """
    steps = np.zeros_like(force)
    steps[1:] = 0.5 * (force[1:] + force[:-1]) / rate
    p = np.cumsum(steps, axis=0)
    p = p - np.linspace(0.0, 1.0, len(p))[:, None] * p[-1]
    return np.asarray(p - low_pass(p, cutoff, rate))


# ---- from a measurement to samples of motion and force that an estimator takes


INSTRUMENTS = ("auto", "reference", "smooth")
# What the decimation keeps, and the least cutoff of the encoders' filter, over the band of the motion; its
# largest, over the rate.
_DECIMATION_BAND, _LOWEST_CUTOFF, _HIGHEST_CUTOFF = 8.0, 5.0, 0.1
# Noise of the filtered rates over the rates themselves, root mean squares, that the cutoff lets pass; less
# vibration than that does not count either.
_RATE_NOISE = 3e-3
# How long the encoders' filter remembers a jump, in periods of its cutoff.
_MEMORY = 0.75
# Longest gap, in samples, that is bridged; longer ones part a measurement.
_LONGEST_BRIDGE = 5
# Knots of the splines of instruments a period of the band's highest frequency.
_KNOTS = 4.0
# Degree of these splines.
_DEGREE = 5
# Steps of time that differ by more than this part of them are not equal.
_JITTER = 1e-3
# Kept samples of the shortest part of a measurement that is used.
_SHORTEST = 12


@dataclass(frozen=True)
class Preparation:
    """How measured signals are filtered; what is None is chosen from the data.

    Attributes:
        cutoff: of the encoders' filter, Hz.
        decimation: one sample out of this number is kept.
        instruments: "reference", "smooth" (splines through the encoders), or "auto": the reference where it
            was recorded.
        rest: rate of a driven joint below which its dry friction is undetermined, rad/s or m/s.
    """

    cutoff: float | None = None
    decimation: int | None = None
    instruments: str = "auto"
    rest: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.instruments not in INSTRUMENTS:
            raise IdentificationError(
                f"instruments are one of {', '.join(INSTRUMENTS)}, got {self.instruments!r}"
            )
        for name, least in (("cutoff", 0.0), ("decimation", 1), ("rest", 0.0)):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= least and value > 0.0):
                raise IdentificationError(f"{name} must be above zero, got {value:g}")


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Plottable):
    """Motion and forces of one uninterrupted run, at equal steps.

    Attributes:
        robot: the robot.
        time: (N,), s.
        motion: of the platform, from the encoders.
        tau: of the actuators (N, actuators), N or N m.
        instruments: the motion without errors of encoders.
        used: whether a sample counts (N,).
        preparation: how the signals were filtered, everything chosen.
        band: of the measured motion, Hz.
        vibration: of the actuators beyond the cutoff (actuators,), rad/s or m/s, root mean squares that the
            rates contain; zeros where they do not count.
        noise: deviation of the encoders' white noise (actuators,), rad or m.
        file: that the measurement was read from.
    """

    robot: Robot
    time: Array
    motion: PlatformMotion
    tau: Array
    instruments: PlatformMotion
    used: Array
    preparation: Preparation
    band: float
    vibration: Array
    noise: Array
    file: str = ""

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.time)

    @property
    def rate(self) -> float:
        """Samples a second, Hz."""
        return float((len(self.time) - 1) / (self.time[-1] - self.time[0]))


def prepare(
    measurements: Measurement | Sequence[Measurement], preparation: Preparation | None = None
) -> list[Samples]:
    """Filter, differentiate and turn measurements into samples, one for each uninterrupted part.

    Args:
        measurements: one or several runs.
        preparation: how; everything from the data if None.

    Raises:
        IdentificationError: if no part of a measurement is long enough, or has no pose.
    """
    runs = [measurements] if isinstance(measurements, Measurement) else list(measurements)
    if not runs:
        raise IdentificationError("there is no measurement")
    samples = []
    for measurement in runs:
        samples += _prepare_measurement(measurement, preparation or Preparation())
    return samples


def _prepare_measurement(measurement: Measurement, preparation: Preparation) -> list[Samples]:
    parts = _uninterrupted_parts(measurement)
    if not parts:
        raise IdentificationError(
            f"{measurement.source.file}: no part without gaps has {_SHORTEST} samples or more; record longer"
        )
    longest = max(parts, key=len)
    width = motion_band(longest.q, longest.rate)
    chosen = _choose_preparation(preparation, longest, width)
    samples = [_prepare_part(part, chosen, width) for part in parts]
    long_enough = [part for part in samples if part is not None]
    if not long_enough:
        raise IdentificationError(
            f"{measurement.source.file}: {len(longest)} samples at {longest.rate:.4g}/s are too few for a "
            f"motion with a band of {width:.3g} Hz: after filtering with {chosen.cutoff:.3g} Hz and keeping "
            f"one of {chosen.decimation} samples fewer than {_SHORTEST} remain; record longer"
        )
    return long_enough


def _choose_preparation(preparation: Preparation, longest: Measurement, width: float) -> Preparation:
    """Choose what is left to the data."""
    rate = longest.rate
    instruments = preparation.instruments
    if instruments == "auto":
        instruments = "smooth" if longest.reference is None else "reference"
    if instruments == "reference" and longest.reference is None:
        raise IdentificationError(
            f"{longest.source.file}: instruments are to be the reference, which was not recorded; "
            "give its columns, or choose 'smooth'"
        )
    noise = encoder_noise(longest.q)
    cutoff = preparation.cutoff or _cutoff(longest, width, noise)
    # A window shorter than the filter's memory would see one side of a jump that the filter has blurred.
    decimation = preparation.decimation or max(
        1, int(0.4 * rate / (_DECIMATION_BAND * width)), int(np.ceil(rate / cutoff))
    )
    # Four deviations of the noise of the filtered rates; encoders without noise are at rest where they are.
    slowest = 4.0 * float(np.max(_rate_noise(noise, cutoff, rate)))
    rest = preparation.rest or max(slowest, np.finfo(float).tiny)
    return dataclasses.replace(
        preparation, cutoff=cutoff, decimation=int(decimation), instruments=instruments, rest=rest
    )


def _cutoff(measurement: Measurement, width: float, noise: Array) -> float:
    """The highest cutoff that leaves rates with little noise, Hz."""
    rate = measurement.rate
    speed = np.std(np.diff(measurement.q, axis=0) * rate, axis=0)
    lowest, highest = _LOWEST_CUTOFF * width, _HIGHEST_CUTOFF * rate
    # The noise of rates grows with the power 3/2 of the cutoff.
    allowed = _RATE_NOISE * np.maximum(speed, np.finfo(float).tiny)
    ratio = np.min(allowed / np.maximum(_rate_noise(noise, highest, rate), np.finfo(float).tiny))
    return float(min(max(highest * min(1.0, ratio ** (2.0 / 3.0)), lowest), 0.45 * rate))


def encoder_noise(q: Array) -> Array:
    """Deviation of white noise of the encoders (actuators,), rad or m.

    From the median of fourth differences, in which hardly anything of the motion is left: normal noise has
    a median of 0.6745 deviations, and 70 is the sum of the squared coefficients 1 4 6 4 1. An encoder that
    moves by less than a step a sample has no differences then: their mean square counts, too.
    """
    differences = np.diff(q, 4, axis=0)
    median = np.median(np.abs(differences), axis=0) / 0.6745
    return np.asarray(np.where(median > 0.0, median, np.std(differences, axis=0)) / np.sqrt(70.0))


def _rate_noise(noise: Array, cutoff: float, rate: float) -> Array:
    """Deviation of the filtered rates: that of white noise below the cutoff, differentiated.

    s_v = s 2 pi f_c sqrt(2 f_c / (3 f_s))
    """
    limited = min(cutoff, 0.5 * rate)
    return np.asarray(noise * 2.0 * np.pi * limited * np.sqrt(2.0 * limited / (3.0 * rate)))


def _uninterrupted_parts(measurement: Measurement) -> list[Measurement]:
    """The uninterrupted parts, at equal steps, with short gaps bridged."""
    columns = [measurement.q, measurement.tau]
    columns += [] if measurement.reference is None else [measurement.reference]
    signals = np.concatenate(columns, axis=1)
    good = np.flatnonzero(np.all(np.isfinite(signals), axis=1) & np.isfinite(measurement.time))
    if len(good) < _SHORTEST:
        return []
    time = measurement.time[good]
    step = float(np.median(np.diff(time)))
    breaks = np.flatnonzero(np.diff(time) > (_LONGEST_BRIDGE + 0.5) * step) + 1
    parts = []
    for indices in np.split(good, breaks):
        if len(indices) >= _SHORTEST:
            parts.append(_resample(measurement, signals, indices, step))
    return parts


def _resample(measurement: Measurement, signals: Array, indices: Array, step: float) -> Measurement:
    """One part at equal steps, forces at the time of the motion."""
    time = measurement.time[indices]
    count = len(measurement.robot.actuators)
    values = signals[indices]
    equal = np.max(np.abs(np.diff(time) - step)) <= _JITTER * step
    times = time if equal else time[0] + step * np.arange(int((time[-1] - time[0]) / step + 1e-9) + 1)
    if not equal:
        values = _interpolate(time, values, times)
    if measurement.delay:
        later = np.clip(times + measurement.delay, times[0], times[-1])
        values = values.copy()
        values[:, count : 2 * count] = _interpolate(times, values[:, count : 2 * count], later)
    q, force, reference = np.split(values, [count, 2 * count], axis=1)
    return dataclasses.replace(
        measurement,
        time=times,
        q=q,
        tau=force,
        reference=None if measurement.reference is None else reference,
        delay=0.0,
    )


def _interpolate(time: Array, values: Array, times: Array) -> Array:
    """Signals (N, k) at other times, on cubic splines; SciPy is loaded for those that are needed alone."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(time, values)(times))


def _prepare_part(part: Measurement, chosen: Preparation, width: float) -> Samples | None:
    """Samples of one part; None if it is too short for the filters."""
    assert chosen.cutoff is not None
    assert chosen.decimation is not None
    rate = part.rate
    cut = settling_samples(chosen.cutoff, rate)
    inner = slice(cut, len(part) - cut)
    if len(part) - 2 * cut < (_SHORTEST + 2 * HALF_LENGTH) * chosen.decimation:
        return None
    q = low_pass(part.q, chosen.cutoff, rate)
    motion = _part_motion(part, q, inner)
    smooth = part.reference if chosen.instruments == "reference" else _fit_splines(part, width)
    assert smooth is not None
    instruments = _part_motion(part, smooth, inner)
    used = motion.ok & instruments.ok & ~_is_slow(part, q, chosen)[inner]
    motion, shaking = _add_vibration(part, motion, chosen, inner, used)
    return Samples(
        *(part.robot, part.time[inner], motion, part.tau[inner], instruments, used),
        *(chosen, width, shaking, encoder_noise(part.q), part.source.file),
    )


def _part_motion(part: Measurement, q: Array, inner: slice) -> PlatformMotion:
    """The motion of the platform from coordinates (N, actuators) over the time of a part."""
    rates, accelerations = derivatives(q, part.rate)
    x = path_poses(part.robot, q[inner])
    motion = motion_from_rates(part.robot, x, rates[inner], accelerations[inner])
    if not np.any(motion.ok):
        raise IdentificationError(
            f"{part.source.file}: no pose belongs to the actuators' coordinates, from row "
            f"{part.source.row(0)} on; check signs, units and zeros of the encoders"
        )
    return motion


def _add_vibration(
    part: Measurement, motion: PlatformMotion, chosen: Preparation, inner: slice, used: Array
) -> tuple[PlatformMotion, Array]:
    """The motion with what forces say beyond the cutoff, where that counts, and its size (actuators,)."""
    assert chosen.cutoff is not None
    none = np.zeros(len(part.robot.actuators))
    if not np.any(used):
        return motion, none
    v, rates = vibration_from_forces(part.robot, motion, part.tau[inner], chosen.cutoff, part.rate)
    size = np.sqrt(np.mean(rates[used] ** 2, axis=0))
    speed = np.std(np.diff(part.q, axis=0) * part.rate, axis=0)
    noise = _rate_noise(encoder_noise(part.q), chosen.cutoff, part.rate)
    if not np.any(size > np.maximum(noise, _RATE_NOISE * speed)):
        return motion, none
    return dataclasses.replace(motion, v=motion.v + v), size


def _fit_splines(part: Measurement, width: float) -> Array:
    """Coordinates (N, actuators) on quintic splines of least squares, with few knots."""
    from scipy.linalg import solveh_banded

    duration = part.time[-1] - part.time[0]
    pieces = int(max(4.0, min(np.ceil(_KNOTS * width * duration), len(part) / 4.0)))
    count = pieces + _DEGREE
    knots = clamped_knots(count, _DEGREE, duration)
    first, basis = basis_functions(knots, _DEGREE, part.time - part.time[0])
    # Normal equations B^T B c = B^T q of functions that overlap with the next five, from the diagonal up.
    normal, right = np.zeros((_DEGREE + 1, count)), np.zeros((count, part.q.shape[1]))
    for i, column in enumerate(basis.T):
        np.add.at(right, first + i, column[:, None] * part.q)
        for j in range(i, _DEGREE + 1):
            normal[j - i] += np.bincount(first + i, column * basis[:, j], count)
    control = solveh_banded(normal, right, lower=True)
    return np.asarray(np.einsum("si,sik->sk", basis, control[first[:, None] + np.arange(_DEGREE + 1)]))


def _is_slow(part: Measurement, q: Array, chosen: Preparation) -> Array:
    """Whether a driven joint with dry friction is so slow that its friction is undetermined (N,).

    Where its rate changes sign the acceleration jumps, and the filter has blurred the jump: samples within
    its memory do not count either.
    """
    assert chosen.cutoff is not None
    assert chosen.rest is not None
    rates = np.nan_to_num(derivatives(q, part.rate)[0])
    slow = np.zeros(len(q), dtype=bool)
    for k, actuator in enumerate(part.robot.actuators):
        terms = part.robot.joints[actuator.joint].friction
        if any(term.basis in ("coulomb", "stribeck") for axis in terms for term in axis):
            slow |= np.abs(rates[:, k]) < chosen.rest
            slow[1:] |= rates[1:, k] * rates[:-1, k] < 0.0
    memory = int(np.ceil(_MEMORY * part.rate / chosen.cutoff))
    return np.convolve(slow, np.ones(2 * memory + 1), "same") > 0.5
