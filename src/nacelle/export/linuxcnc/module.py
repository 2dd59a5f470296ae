"""The kinematics module: one file for halcompile, with the C of the kinematics in it."""

from __future__ import annotations

import re

from nacelle.emit.c.parts import c_constant
from nacelle.emit.names import Identifiers, comment_text, identifier
from nacelle.errors import ExportError
from nacelle.export.about import Package
from nacelle.export.c.package import PackageCode
from nacelle.export.linuxcnc.axes import axes_source, unit_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of

LONGEST = 47
"""The longest name in HAL."""
JOINTS = 16
"""The most joints that LinuxCNC moves."""

REASONS = {
    0: "well",
    1: "a joint or a drive is beyond its limits",
    2: "an input is not finite",
    3: "out of reach, or a singularity lies on the straight way from the last good pose",
    4: "too far from the last good pose",
}
"""What a status means."""

_COMPONENT = """\
/*
 * {comp}: kinematics of {robot} for LinuxCNC.
 * {origin}
 */
component {comp} "Kinematics of a parallel robot, exported by nacelle";
description \"\"\"
Forward and inverse kinematics by the emitted code of nacelle: joint angles in degrees, lengths in mm.
A call starts from its last good result and follows the solution; what is not connected with it is refused
with a reason.
\"\"\";
pin out s32 inverse.status "what the last call of the inverse kinematics returned";
pin out u32 inverse.count "evaluations that it took";
pin out float inverse.margin "smallest reach margin of a leg: 0 at a serial singularity";
pin out float inverse.way "way to the nearest limit of a joint or drive, rad or m";
pin out s32 forward.status "what the last call of the forward kinematics returned";
pin out u32 forward.count "evaluations that it took";
pin out float forward.margin "smallest reach margin of a leg";
pin out float forward.way "way to the nearest limit of a joint or drive, rad or m";
pin out u32 worst-count "most evaluations that a call took";
pin out s32 reason "status of the last inverse call that was refused, kept until clear: {reasons}";
pin out bit refused "an inverse call was refused; kept until clear";
pin in bit clear "forget the reason and the worst count";
param rw bit ignore-limits = 0 "accept poses beyond the limits of joints and drives (status 1)";
{geometry}option singleton yes;
option extra_setup yes;
option extra_cleanup yes;
option no_convenience_defines yes;
license "GPL"; // what LinuxCNC expects of a module; this text is under 0BSD
author "nacelle";
;;
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "rtapi_math.h"
#include "kinematics.h"
"""

_WRAPPER = """\

/* ---------------------------------------------------------------- LinuxCNC's axes and joints */

#define RADIAN {radian}

{axes}
static const double joint_units[{m}] = {{{units}}};

/* ---------------------------------------------------------------- states, pins, records of calls */

/* The last good results, of feedback and of commands. */
static {name}_kinematics measured, commanded;
/* The joints that the last inverse call returned. */
static double returned[{m}];
static struct __comp_state *pins;

static const char *const reasons[] = {{
{reason_lines}}};

char *trace_file = 0;
RTAPI_MP_STRING(trace_file, "file that calls are written to when the module is unloaded");
int trace_calls = 100000;
RTAPI_MP_INT(trace_calls, "most calls that are written");

{apply}/* A call: 0 forward, 1 inverse; its status; axes X Y Z A B C U V W; joints. */
#define RECORD (2 + 9 + {m})
static double *trace;
static int traced;

static void record(int kind, int status, const EmcPose *world, const double *joint)
{{
    if (!trace || traced >= trace_calls) {{
        return;
    }}
    const double head[11] = {{kind, status, world->tran.x, world->tran.y, world->tran.z, world->a, world->b,
        world->c, world->u, world->v, world->w}};
    double *to = trace + (size_t)RECORD * traced++;
    for (int i = 0; i < RECORD; ++i) {{
        to[i] = (i < 11) ? head[i] : joint[i - 11];
    }}
}}

/* Keep why an inverse call is refused, and say it once. */
static void refuse(int status, int earlier)
{{
    if (status != earlier) {{
        rtapi_print_msg(RTAPI_MSG_ERR, "{hal}: pose refused: %s (status %d)\\n", reasons[status], status);
    }}
    *pins->reason = status;
    *pins->refused = 1;
}}

static void count_calls(int count)
{{
    if (*pins->worst_count < (hal_u32_t)count) {{
        *pins->worst_count = (hal_u32_t)count;
    }}
}}

static int extra_setup(struct __comp_state *instance, char *prefix, long extra_arg)
{{
    (void)prefix;
    (void)extra_arg;
    pins = instance;
    {name}_kinematics_reset(&measured);
    {name}_kinematics_reset(&commanded);
    if (trace_file && *trace_file && trace_calls > 0) {{
        trace = calloc((size_t)trace_calls * RECORD, sizeof *trace);
        if (!trace) {{
            rtapi_print_msg(RTAPI_MSG_ERR, "{hal}: no memory for %d calls\\n", trace_calls);
            return -ENOMEM;
        }}
    }}
    return 0;
}}

static void extra_cleanup(void)
{{
    FILE *file = trace ? fopen(trace_file, "wb") : 0;
    if (file) {{
        fwrite(trace, sizeof *trace * RECORD, (size_t)traced, file);
        fclose(file);
    }} else if (trace) {{
        rtapi_print_msg(RTAPI_MSG_ERR, "{hal}: cannot write %s\\n", trace_file);
    }}
    free(trace);
    trace = 0;
}}

/* ---------------------------------------------------------------- what LinuxCNC calls */

int kinematicsForward(const double *joint, EmcPose *world, const KINEMATICS_FORWARD_FLAGS *fflags,
    KINEMATICS_INVERSE_FLAGS *iflags)
{{
    double q[{m}];
    double x[{nx}];
    (void)fflags;
    (void)iflags;
{changed}    for (int i = 0; i < {m}; ++i) {{
        q[i] = joint[i] / joint_units[i];
    }}
    const int status = {name}_forward(&measured, q, x);
    *pins->forward_status = status;
    *pins->forward_count = (hal_u32_t)measured.count;
    *pins->forward_margin = measured.margin;
    *pins->forward_way = measured.way;
    count_calls(measured.count);
    /* Where joints are, there the platform is: limits are the drives' business. */
    if (status <= 1) {{
        axes_of(x, world);
    }}
    record(0, status, world, joint);
    return (status <= 1) ? 0 : -1;
}}

/* The planner's call of a period gives the joints that the last one returned: the command goes on from there.
 * With other joints LinuxCNC asks for the end of a move, or the joints have been moved one by one: then it
 * starts from where the platform is measured. */
int kinematicsInverse(const EmcPose *world, double *joint, const KINEMATICS_INVERSE_FLAGS *iflags,
    KINEMATICS_FORWARD_FLAGS *fflags)
{{
    double x[{nx}];
    double q[{m}];
    int goes_on = 1;
    (void)iflags;
    (void)fflags;
{changed}    for (int i = 0; i < {m}; ++i) {{
        goes_on = goes_on && joint[i] == returned[i];
    }}
    {name}_kinematics s = goes_on ? commanded : measured;
    pose_of(world, x);
    const int status = {name}_inverse(&s, x, q);
    const int bad = status > 1 || (status == 1 && !pins->ignore_limits);
    const int earlier = *pins->inverse_status;
    *pins->inverse_status = status;
    *pins->inverse_count = (hal_u32_t)s.count;
    *pins->inverse_margin = s.margin;
    *pins->inverse_way = s.way;
    count_calls(s.count);
    if (*pins->clear) {{
        *pins->reason = 0;
        *pins->refused = 0;
        *pins->worst_count = 0;
    }}
    if (bad) {{
        refuse(status, earlier);
    }} else {{
        for (int i = 0; i < {m}; ++i) {{
            joint[i] = q[i] * joint_units[i];
            returned[i] = joint[i];
        }}
        commanded = s;
    }}
    record(1, status, world, joint);
    return bad ? -1 : 0;
}}

KINEMATICS_TYPE kinematicsType(void)
{{
    return KINEMATICS_BOTH;
}}

#ifdef KINS_NOT_SWITCHABLE
KINS_NOT_SWITCHABLE
#endif
EXPORT_SYMBOL(kinematicsType);
EXPORT_SYMBOL(kinematicsForward);
EXPORT_SYMBOL(kinematicsInverse);
"""


_GEOMETRY = """\
param rw bit geometry.apply = 0 "take the numbers of the geometry; 0 again when that is done";
pin out s32 geometry.status "whether they were taken: 0 or 1 as above, else the numbers before hold";
"""

_APPLY = """\
/* Take the numbers of the geometry, and start from the reference pose. */
static void take_geometry(void)
{{
    const double numbers[{count}] = {{
{numbers}    }};
    {name}_kinematics next;
    const int status = {name}_kinematics_set(&next, numbers);
    *pins->geometry_status = status;
    pins->geometry_apply = 0;
    if (status > 1) {{
        rtapi_print_msg(RTAPI_MSG_ERR, "{hal}: geometry refused: %s (status %d)\\n", reasons[status], status);
        return;
    }}
    measured = next;
    commanded = next;
}}

"""

_CHANGED = """\
    if (pins->geometry_apply) {
        take_geometry();
    }
"""


def geometry_names(package: Package) -> tuple[str, ...]:
    """What the parameters of HAL are called behind "geometry.", in the order of the free numbers.

    Raises:
        ExportError: if a name is longer than those of HAL.
    """
    if not package.request.parameters:
        return ()
    names = package.robot.numbers.names(*package.request.parameters)
    identifiers = Identifiers(("apply", "status"))
    result = tuple(identifiers.unique(re.sub("_+", "_", identifier(name, "number"))) for name in names)
    for name, own_name in zip(result, names, strict=True):
        full = f"{hal_name(component_name(package))}.geometry.{name}"
        if len(full) > LONGEST:
            raise ExportError(
                f"{own_name} cannot be a parameter of HAL: {full} has more than {LONGEST} characters; give "
                "the package a shorter name (name=, or --name), or the number in the description"
            )
    return result


def component_name(package: Package) -> str:
    """The name of the module and its file: that of the package, with _kins behind it.

    Raises:
        ExportError: if LinuxCNC moves fewer joints.
    """
    m = len(package.robot.actuators)
    if m > JOINTS:
        raise ExportError(f"LinuxCNC moves at most {JOINTS} joints, the robot has {m} actuators")
    return f"{package.name}_kins"


def hal_name(component: str) -> str:
    """What HAL calls a module, as halcompile makes it."""
    return component.removeprefix("hal_").replace("_", "-").rstrip("-")


def module_source(package: Package, code: PackageCode) -> str:
    """The text of the module."""
    robot, name, component = package.robot, package.name, component_name(package)
    mechanism = mechanism_of(robot)
    groups, names = package.request.parameters, geometry_names(package)
    values = robot.numbers.vector(*groups) if names else ()
    head = _COMPONENT.format(
        geometry=_GEOMETRY * bool(names)
        + "".join(
            f'param rw float geometry.{name} = {c_constant(float(value), "double").strip("()")} "m, rad";\n'
            for name, value in zip(names, values, strict=True)
        ),
        comp=component,
        robot=comment_text(robot.name),
        origin=package.origin,
        reasons=", ".join(f"{status} {text}" for status, text in REASONS.items()),
    )
    apply = _APPLY.format(
        name=name,
        hal=hal_name(component),
        count=len(names),
        numbers="".join(f"        pins->geometry_{number},\n" for number in names),
    )
    wrapper = _WRAPPER.format(
        apply=apply if names else "",
        changed=_CHANGED if names else "",
        name=name,
        hal=hal_name(component),
        m=len(robot.actuators),
        nx=mechanism.layout.nx,
        radian=c_constant(1.0 / unit_of(True), "double"),
        axes=axes_source(robot),
        units=", ".join(c_constant(unit_of(angle), "double") for angle in robot.revolute_actuators),
        reason_lines="".join(f'    "{text}",\n' for text in REASONS.values()),
    )
    return head + _one_text(code) + wrapper


def _one_text(code: PackageCode) -> str:
    """All C of a package as one text: each header once, where it is first included."""
    seen: set[str] = set()

    def expand(text: str) -> str:
        return re.sub(r'^#include "([^"]+)"\n', lambda match: include(match[1]), text, flags=re.M)

    def include(file: str) -> str:
        if file in seen:
            return ""
        seen.add(file)
        return expand(code.headers[file])

    return "".join(expand(text) for _, text in sorted(code.sources.items()))
