"""The kinematics of a C package: a struct of the caller, and functions that start from its last result.

Forward kinematics is in closed form where there is one (`SPHERES`). Else it follows the solution from the
last one along a straight way of the actuators' coordinates (`nacelle.emit.track`), and so does inverse
kinematics of robots with passive coordinates along a straight way of poses; a result is connected with the
reference pose therefore, or an error is returned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nacelle.dynamics.jacobian import sample_poses
from nacelle.emit.c.parts import c_constant
from nacelle.emit.c.target import header_lines
from nacelle.export.about import Package
from nacelle.export.c.assemble import KinematicsCheck, number_lines, precision_suffix, table_text
from nacelle.export.entry import Entry
from nacelle.export.kinematics import (
    CLOSING_STEP,
    JOINTS,
    KINEMATICS_LABELS,
    POSE_STEP,
    RATES,
    SPHERES,
    TWIST,
)
from nacelle.export.vectors import ReferenceVectors
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.continuation import closed_tolerance
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.tree.actuation import actuator_scales

# Errors of results in a self-test: so many tolerances over the distance from singularities.
_LIMIT = 20.0
# How far measured coordinates of redundant actuators may contradict each other, rad or robot sizes. Where a
# motion is light, poses far apart fit them almost equally well: a 4-RRR by 4 mrad, 0.2 rad apart.
_MISFIT = 2e-3
# How far poses of a self-test are from the reference, where ways are short, rad or robot sizes.
_SHORT_REACH = 0.02
CAP = 400
"""The most evaluations of a step in one call."""

STATUS = ("OK", "OUT_OF_LIMITS", "INVALID", "UNREACHABLE", "ROUNDS")
"""What the functions return, from 0 on."""

_REMARK = """\
/*
 * Kinematics of {name}: poses from actuators and back, on the branch of the reference pose.
 *
 * {name}_kinematics is a struct of the caller, any number of them; nothing is allocated, nothing is kept
 * elsewhere. Each call starts from the last good result in it, so use one for measured and one for desired
 * motions. Of the struct q, x, y, margin, way and count may be read:
 *   q, x, y   actuators, reduced pose and passive coordinates of the last good result
 *   margin    smallest reach margin of a leg: 0 at a serial singularity
 *   way       way to the nearest limit of a joint or drive, rad or m, of tilts the difference of cosines
 *   count     evaluations that the last call took, at most {cap}
 *
 * {name}_kinematics_reset: to the reference pose. Call it first.
{set} * {name}_forward: the pose x at coordinates q of the actuators.
 * {name}_inverse: the coordinates q of the actuators at the pose x.
 * {name}_rates, {name}_twist: rates of the actuators from the reduced twist, and back, at the last result.
 *
 * Forward and inverse return
 *   0  well
 *   1  well, but a joint or a drive is beyond its limits
 *   2  an input is not finite, or a quaternion has no length
 *   3  out of reach, or a singularity lies on the straight way from the last good result
 *   4  the way takes more than {cap} evaluations: give points between
 * From 2 on the result is the last good one, and the struct is as it was. Loops are closed to
 * {tolerance} of the robot's size.
 */
"""

_SOURCE = """\
/* {name}_kinematics: see the header. */
#include "{package}.h"

#include <math.h>

{tables}

static int all_finite(const {real} *values, int count)
{{
    for (int i = 0; i < count; ++i) {{
        if (!isfinite(values[i])) {{
            return 0;
        }}
    }}
    return 1;
}}

static void copy({real} *to, const {real} *of, int count)
{{
    for (int i = 0; i < count; ++i) {{
        to[i] = of[i];
    }}
}}
{helpers}
{begin}
int {name}_forward{end}({struct} *s, const {real} *q, {real} *x)
{{
{forward}}}

int {name}_inverse{end}({struct} *s, const {real} *x, {real} *q)
{{
{inverse}}}

void {name}_rates{end}(const {struct} *s, const {real} *v, {real} *q_dot)
{{
    {rates}s->x, {s_y}v, q_dot);
}}

void {name}_twist{end}(const {struct} *s, const {real} *q_dot, {real} *v)
{{
    {twist}s->x, {s_y}q_dot, v);
}}
"""

_RESET = """\
void {name}_kinematics_reset{end}({struct} *s)
{{
    {real} active[{m}];
    copy(s->x, reference_x, {nx});
    copy(s->q, reference_q, {m});
{reset}    {joints}s->x, {s_y}active, &s->margin, &s->way);
    s->count = 0;
}}
"""

_SET = """\
int {name}_kinematics_set{end}({struct} *state, const {real} *parameters)
{{
    {struct} next = {{0}};
    {struct} *const s = &next;
    if (!all_finite(parameters, {np})) {{
        return 2;
    }}
{prepare}    copy(s->x, reference_x, {nx});
{reset}    {joints}s->x, {s_y}s->q, &s->margin, &s->way);
    if (!(s->margin > 0) || !all_finite(s->q, {m})) {{
        return 3;
    }}
    *state = next;
    return (s->way < {slack}) ? 1 : 0;
}}

void {name}_kinematics_reset{end}({struct} *s)
{{
    (void){name}_kinematics_set{end}(s, described);
}}
"""

_SET_REMARK = """\
 * {name}_kinematics_set: the robot with other numbers ({name}_{joints}_prepare says which), at the reference
 *   pose. Returns as below: 2 if one is not finite, 3 if that pose is out of reach; the struct then is as it
 *   was. {name}_kinematics_reset takes the numbers of the description.
"""

_UNIT = """\

/* A pose with a quaternion of unit length, of the two of an orientation that nearer to another pose; 0 if it
 * has no length. */
static int unit({real} *x, const {real} *near)
{{
    {real} square = 0;
    {real} along = 0;
    for (int i = {first}; i < {last}; ++i) {{
        square += x[i] * x[i];
        along += x[i] * near[i];
    }}
    const {real} scale = {sqrt}(square);
    if (!(scale > {tiny}) || !isfinite(scale)) {{
        return 0;
    }}
    for (int i = {first}; i < {last}; ++i) {{
        x[i] /= (along < 0) ? -scale : scale;
    }}
    return 1;
}}
"""

_NEAREST = """\

/* Which actuators turn; and their coordinates within half a turn of others. */
static const unsigned char turns[{m}] = {{{turns}}};

static void nearest({real} *goal, const {real} *q, const {real} *near)
{{
    for (int i = 0; i < {m}; ++i) {{
        goal[i] = q[i];
        if (turns[i]) {{
            goal[i] -= {two_pi} * {floor}((q[i] - near[i]) / {two_pi} + {half});
        }}
    }}
}}
"""

_FITS = """\

/* How far redundant actuators may be from those of the pose that fits them best, rad or m. */
static const {real} largest_misfit[{m}] = {{{largest}}};

static int fits(const {real} *active, const {real} *goal)
{{
    {real} at[{m}];
    {at};
    for (int i = 0; i < {m}; ++i) {{
        if (!(at[i] - goal[i] <= largest_misfit[i] && goal[i] - at[i] <= largest_misfit[i])) {{
            return 0;
        }}
    }}
    return 1;
}}
"""

_SPHERES = """\
    {real} at[{nx}];
    {real} margin[1];
    {real} way[1];
    {real} meeting[1];
    int status = 2;
    if (all_finite(q, {m})) {{
        {spheres}q, at, margin, way, meeting);
        status = (margin[0] > 0 && meeting[0] > 0) ? 0 : 3;
    }}
    if (status == 0) {{
        copy(s->x, at, {nx});
        copy(s->q, q, {m});
        s->margin = margin[0];
        s->way = way[0];
        status = (way[0] < {slack}) ? 1 : 0;
    }}
    s->count = (status != 2);
    copy(x, s->x, {nx});
    return status;
"""

_FORWARD = """\
    {real} u[{nu}];
    {real} goal[{m}];
    {real} distances[{nc}];
    {real} active[{m}];
    {real} margin[1];
    {real} way[1];
    int status = 2;
    int count = 0;
    int first = 0;
    if (all_finite(q, {m})) {{
        copy(u, s->x, {nx});
{u_y}        {goal};
        if (!s->forward_known) {{
            {real} step[{nu}];
            {real} error[1];
            {step}u, s->q, step, error, s->forward_distances);
            s->forward_known = 1;
            first = 1;
        }}
        copy(distances, s->forward_distances, {nc});
        status = {track}u, s->q, goal, distances, {tolerance}, {cap} - first, &count);
        count += first;
        status = (status == 0) ? 0 : ((status == 1) ? 4 : 3);
    }}
{unit}    if (status == 0) {{
        {joints}u, {at_y}active, margin, way);
        status = (margin[0] > 0{fits}) ? 0 : 3;
    }}
    if (status == 0) {{
        copy(s->x, u, {nx});
{keep_y}        copy(s->q, goal, {m});
        copy(s->forward_distances, distances, {nc});
        s->margin = margin[0];
        s->way = way[0];
        status = (way[0] < {slack}) ? 1 : 0;
    }}
    s->count = count;
    copy(x, s->x, {nx});
    return status;
"""

_CHECK = """\
/* {name}_forward and {name}_inverse, from state to state. */
static int check_kinematics{end}(void)
{{
    {struct} s;
    {struct} t;
    {real} x[{nx}];
    {real} q[{m}];
    double worst[2] = {{0.0}};
    {name}_kinematics_reset{end}(&s);
    {name}_kinematics_reset{end}(&t);
    for (int i = 0; i < STATES; ++i) {{
        for (int j = 0; j < {nx}; ++j) {{
            x[j] = ({real})kinematics_x[i][j];
        }}
        if ({name}_inverse{end}(&s, x, q) > 1) {{
            worst[0] = HUGE_VAL;
        }}
        for (int j = 0; j < {m}; ++j) {{
            worst[0] = worse(worst[0], (double)q[j], kinematics_q[i][j], 1.0);
            q[j] = ({real})kinematics_q[i][j];
        }}
        if ({name}_forward{end}(&t, q, x) > 1) {{
            worst[1] = HUGE_VAL;
        }}
        for (int j = 0; j < {nx}; ++j) {{
            worst[1] = worse(worst[1], (double)x[j], kinematics_x[i][j], 1.0);
        }}
    }}
    return report("{name}_inverse{end}", "q", worst[0], {limit!r})
        + report("{name}_forward{end}", "x", worst[1], {limit!r});
}}
"""

_INVERSE = """\
    {real} at[{nx}];
{declare}    {real} active[{m}];
    {real} margin[1];
    {real} way[1];
    int status = 2;
    int count = 1;
    copy(at, x, {nx});
    if (all_finite(x, {nx}){unit}) {{
{closing}    }}
    if (status == 0) {{
        {joints}at, {y}active, margin, way);
        status = (margin[0] > 0 && all_finite(active, {m})) ? 0 : 3;
    }}
    if (status == 0) {{
        copy(s->x, at, {nx});
{keep}        copy(s->q, active, {m});
        s->margin = margin[0];
        s->way = way[0];
        status = (way[0] < {slack}) ? 1 : 0;
    }}
    s->count = count;
    copy(q, s->q, {m});
    return status;
"""

_ITERATED = """\
    {real} y[{ny}];
    {real} distances[{most}];
    int first = 0;
"""

_CLOSING = """\
        copy(y, s->y, {ny});
        if (!s->inverse_known) {{
            {real} step[{ny}];
            {real} error[1];
            {step}y, s->x, step, error, s->inverse_distances);
            s->inverse_known = 1;
            first = 1;
        }}
        copy(distances, s->inverse_distances, {nd});
        status = {track}y, s->x, at, distances, {tolerance}, {cap} - first, &count);
        count += first;
        status = (status == 0) ? 0 : ((status == 1) ? 4 : 3);
"""


def _entry(package: Package, label: str) -> Entry | None:
    return next((entry for entry in package.entries if entry.label == label), None)


def _size(entry: Entry | None, name: str) -> int:
    """Size of an output of an entry; 0 without it."""
    if entry is None:
        return 0
    return next(variable.size for variable in entry.program.outputs if variable.name == name)


def _entries_with_numbers(package: Package) -> list[Entry]:
    """The functions of the kinematics whose numbers are given at run time."""
    entries = [entry for entry in package.entries if entry.label in KINEMATICS_LABELS]
    return [entry for entry in entries if "prepared" in entry.fixed_inputs]


def geometry_size(package: Package) -> int:
    """How many numbers the kinematics take at run time; 0 where all of them are constants."""
    if not _entries_with_numbers(package):
        return 0
    return len(_nominal_numbers(package))


def _nominal_numbers(package: Package) -> tuple[float, ...]:
    """These numbers of the description."""
    label = f"{_entries_with_numbers(package)[0].label}_prepare"
    return next(entry.fixed_inputs["parameters"] for entry in package.entries if entry.label == label)


def _struct(package: Package, real: str) -> str:
    return f"{package.name}_kinematics{precision_suffix(real)}"


def _prototypes(package: Package, real: str) -> list[str]:
    name, end, struct = package.name, precision_suffix(real), _struct(package, real)
    first = [f"int {name}_kinematics_set{end}({struct} *s, const {real} *parameters);"]
    return [
        *(first if _entries_with_numbers(package) else []),
        f"void {name}_kinematics_reset{end}({struct} *s);",
        f"int {name}_forward{end}({struct} *s, const {real} *q, {real} *x);",
        f"int {name}_inverse{end}({struct} *s, const {real} *x, {real} *q);",
        f"void {name}_rates{end}(const {struct} *s, const {real} *v, {real} *q_dot);",
        f"void {name}_twist{end}(const {struct} *s, const {real} *q_dot, {real} *v);",
    ]


def kinematics_header(package: Package, reals: Sequence[str], tolerances: Mapping[str, float]) -> str:
    """The header of the kinematics of a package; loops are closed to tolerances."""
    mechanism, name = mechanism_of(package.robot), package.name
    forward, inverse = _entry(package, POSE_STEP), _entry(package, CLOSING_STEP)
    lines = [f"#define {name.upper()}_KINEMATICS_{word} {k}" for k, word in enumerate(STATUS)]
    lines += [f"#define {name.upper()}_DRIVES {len(package.robot.actuators)}"]
    lines += [f"#define {name.upper()}_POSE {mechanism.layout.nx}", ""]
    for real in reals:
        lines += ["typedef struct {", f"    {real} q[{len(package.robot.actuators)}];"]
        lines += [f"    {real} x[{mechanism.layout.nx}];"]
        if mechanism.unknown_count:
            lines.append(f"    {real} y[{mechanism.unknown_count}];")
        lines += [f"    {real} margin;", f"    {real} way;", "    int count;"]
        for label, entry in (("forward", forward), ("inverse", inverse)):
            if entry is not None:
                lines += [
                    f"    {real} {label}_distances[{max(_size(entry, 'distances'), 1)}];",
                    f"    int {label}_known;",
                ]
        lines += [
            f"    {real} {entry.label}_prepared[{len(entry.fixed_inputs['prepared'])}];"
            for entry in _entries_with_numbers(package)
        ]
        lines += [f"}} {_struct(package, real)};", "", *_prototypes(package, real), ""]
    about = _REMARK.format(
        name=name,
        cap=CAP,
        set=_SET_REMARK.format(name=name, joints=JOINTS) if _entries_with_numbers(package) else "",
        tolerance=" or ".join(f"{_tolerance(package, real, tolerances):g} ({real})" for real in reals),
    )
    return about + "\n".join(header_lines(f"{name}_kinematics_h_included", [], lines))


def _tolerance(package: Package, real: str, tolerances: Mapping[str, float]) -> float:
    return max(tolerances[real], closed_tolerance(package.robot))


def kinematics_source(package: Package, real: str, tolerances: Mapping[str, float]) -> tuple[str, str]:
    """File name and text of the kinematics in a precision."""
    robot, name, end = package.robot, package.name, precision_suffix(real)
    mechanism = mechanism_of(robot)
    x = mechanism.reference[0]
    # Angles begin within half a turn of the centres of their joints, as they do elsewhere; those that count
    # turns begin where they are.
    y = inverse_kinematics(mechanism.robot, x, limits=False).y
    forward, inverse = _entry(package, POSE_STEP), _entry(package, CLOSING_STEP)
    nx, ny, m = mechanism.layout.nx, mechanism.unknown_count, len(robot.actuators)
    quaternion = mechanism.layout.quaternion
    function = {"double": ("sqrt", "floor"), "float": ("sqrtf", "floorf")}[real]
    prepared = {entry.label: f"s->{entry.label}_prepared, " for entry in _entries_with_numbers(package)}

    def call(label: str, function: str = "") -> str:
        """A call up to its first argument but for what is prepared."""
        return f"{name}_{label}{end}{function}({prepared.get(label, '')}"

    common = {
        "package": name,
        "name": name,
        "real": real,
        "end": end,
        "struct": _struct(package, real),
        "nx": nx,
        "ny": ny,
        "nu": nx + ny,
        "m": m,
        "nc": _size(forward, "distances"),
        "nd": _size(inverse, "distances"),
        "joints": call(JOINTS),
        "rates": call(RATES),
        "twist": call(TWIST),
        "spheres": call(SPHERES),
        # C has no empty arrays.
        "most": max(_size(inverse, "distances"), 1),
        "s_y": "s->y, " if ny else "",
        "tolerance": c_constant(_tolerance(package, real, tolerances), real),
        "slack": c_constant({"double": -1e-9, "float": -1e-5}[real], real),
        "cap": CAP,
    }
    helpers = ""
    if quaternion is not None:
        helpers += _UNIT.format(
            real=real,
            first=quaternion.start,
            last=quaternion.stop,
            sqrt=function[0],
            tiny=c_constant({"double": 1e-150, "float": 1e-15}[real], real),
        )
    if forward is None:
        forward_text = _SPHERES.format(**common)
    else:
        revolute = robot.revolute_actuators
        if any(revolute):
            helpers += _NEAREST.format(
                real=real,
                m=m,
                turns=", ".join(str(int(angle)) for angle in revolute),
                two_pi=c_constant(2.0 * math.pi, real),
                half=c_constant(0.5, real),
                floor=function[1],
            )
        redundant = m != robot.motion.n
        if redundant:
            largest = _MISFIT * actuator_scales(robot)
            helpers += _FITS.format(
                real=real,
                m=m,
                largest=", ".join(c_constant(value, real) for value in largest.tolist()),
                at="nearest(at, active, goal)" if any(revolute) else f"copy(at, active, {m})",
            )
        forward_text = _FORWARD.format(
            **common,
            fits=" && fits(active, goal)" if redundant else "",
            step=call(POSE_STEP),
            track=call(POSE_STEP, "_track"),
            u_y=f"        copy(u + {nx}, s->y, {ny});\n" if ny else "",
            at_y=f"u + {nx}, " if ny else "",
            keep_y=f"        copy(s->y, u + {nx}, {ny});\n        s->inverse_known = 0;\n" if ny else "",
            goal="nearest(goal, q, s->q)" if any(revolute) else f"copy(goal, q, {m})",
            unit="    if (status == 0 && !unit(u, s->x)) {\n        status = 3;\n    }\n"
            if quaternion
            else "",
        )
    closing, keep = "        status = 0;\n", ""
    if inverse is not None:
        closing = _CLOSING.format(**common, step=call(CLOSING_STEP), track=call(CLOSING_STEP, "_track"))
        keep = f"        copy(s->y, y, {ny});\n        copy(s->inverse_distances, distances, {{}});\n"
        keep = keep.format(common["nd"])
    if forward is not None:
        keep += "        s->forward_known = 0;\n"
    inverse_text = _INVERSE.format(
        **common,
        declare=_ITERATED.format(**common) if ny else "",
        unit=" && unit(at, s->x)" if quaternion else "",
        closing=closing,
        y="y, " if ny else "",
        keep=keep,
    )
    reset = f"    copy(s->y, reference_y, {ny});\n" if ny else ""
    reset += "    s->forward_known = 0;\n" if forward is not None else ""
    reset += "    s->inverse_known = 0;\n" if inverse is not None else ""
    tables = {"reference_x": x, **({"reference_y": y} if ny else {})}
    if prepared:
        tables["described"] = np.array(_nominal_numbers(package))
        calls = [f"    {name}_{label}_prepare{end}(parameters, s->{label}_prepared);\n" for label in prepared]
        begin = _SET.format(**common, np=len(tables["described"]), prepare="".join(calls), reset=reset)
    else:
        tables["reference_q"] = np.asarray(_entry_values(package, x, y))
        begin = _RESET.format(**common, reset=reset)
    text = _SOURCE.format(
        **common,
        tables="\n".join(
            f"static const {real} {table}[{len(values)}] = {{\n{number_lines(values, real)}\n}};"
            for table, values in tables.items()
        ),
        helpers=helpers,
        begin=begin,
        forward=forward_text,
        inverse=inverse_text,
    )
    return f"{name}_kinematics{end}.c", text


def kinematics_tolerances(
    package: Package, references: Mapping[str, ReferenceVectors], tolerances: Mapping[str, float]
) -> dict[str, float]:
    """What loops are closed to: no less than the rounding of what is open."""
    result = dict(tolerances)
    for entry in package.entries:
        if entry.driver == "track":
            vectors = references[entry.label]
            for real, outputs in vectors.tolerance.items():
                result[real] = max(result[real], float(f"{outputs['error'] * vectors.scale['error']:.1e}"))
    return result


def kinematics_check(
    package: Package, references: Mapping[str, ReferenceVectors], tolerances: Mapping[str, float]
) -> KinematicsCheck:
    """What the self-test of a package compares of its kinematics."""
    x = references[JOINTS].inputs["x"].copy()
    mechanism = mechanism_of(package.robot)
    if POSE_STEP in references and len(package.robot.actuators) != package.robot.motion.n:
        # On a straight way between coordinates of redundant actuators they do not fit: ways are short.
        x = sample_poses(package.robot, len(x), reach=_SHORT_REACH)
    quaternion = mechanism.layout.quaternion
    if quaternion is not None:
        x[:, quaternion] /= np.linalg.norm(x[:, quaternion], axis=1, keepdims=True)
        far = x[:, quaternion] @ mechanism.reference[0][quaternion] < 0.0
        x[far, quaternion] *= -1.0
    q = inverse_kinematics(package.robot, x, limits=False).q
    known = [
        (references[label], name)
        for label, name in ((POSE_STEP, "distances"), (CLOSING_STEP, "distances"))
        if label in references
    ]
    nearest = (
        min(float(np.min(np.abs(vectors.outputs[name]), initial=1.0)) for vectors, name in known)
        if known
        else float(np.sqrt(np.min(np.abs(references[SPHERES].outputs["meeting"]))))
    )
    checks = {
        real: _CHECK.format(
            name=package.name,
            end=precision_suffix(real),
            struct=_struct(package, real),
            real=real,
            nx=mechanism.layout.nx,
            m=len(package.robot.actuators),
            limit=float(f"{_LIMIT * _tolerance(package, real, tolerances) / nearest:.1e}"),
        )
        for real in ("double", "float")
    }
    return KinematicsCheck(table_text("kinematics_x", x) + table_text("kinematics_q", q), checks)


def _entry_values(package: Package, x: np.ndarray, y: np.ndarray) -> list[float]:
    """Coordinates of the actuators at the reference pose."""
    entry = _entry(package, JOINTS)
    assert entry is not None
    m = len(package.robot.actuators)
    return [float(value) for value in entry.program.evaluate([*x, *(y if len(y) else [])])[:m]]
