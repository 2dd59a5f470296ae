"""The kinematics of a C package for C++17: a class around the struct, header-only, in std::array."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nacelle.export.about import Package
from nacelle.export.c.assemble import precision_suffix
from nacelle.kinematics.mechanism.mechanism import mechanism_of

_HEADER = """\
// Kinematics of {name} for C++17: a class around {name}_kinematics, whose header says what its functions do.
//
//     {name}::Kinematics robot;                        // at the reference pose
//     {name}::Drives q;
//     if ({name}::has_result(robot.inverse(x, q))) {{   // std::array in and out
//
// Nothing is allocated and nothing throws. A call without a result leaves the object as it was, and
// gives the last result.
#ifndef {name}_hpp_included
#define {name}_hpp_included

#include "{name}.h"

#include <array>
#include <cstddef>

namespace {name} {{

enum class Status {{ ok = 0, out_of_limits = 1, invalid = 2, unreachable = 3, rounds = 4 }};

// Whether a call has a new result; beyond limits it has one, too.
constexpr bool has_result(Status status) noexcept
{{
    return status == Status::ok || status == Status::out_of_limits;
}}

constexpr const char *message(Status status) noexcept
{{
    switch (status) {{
    case Status::ok:
        return "ok";
    case Status::out_of_limits:
        return "a joint or a drive is beyond its limits";
    case Status::invalid:
        return "an input is not finite, or a quaternion has no length";
    case Status::unreachable:
        return "out of reach, or a singularity lies on the straight way from the last result";
    case Status::rounds:
        return "the way takes too many evaluations: give points between";
    }}
    return "";
}}

inline constexpr std::size_t drive_count = {m};
inline constexpr std::size_t pose_size = {nx};
inline constexpr std::size_t twist_size = {n};
inline constexpr std::array<const char *, drive_count> drive_names = {{
    {drives}
}};
inline constexpr std::array<const char *, pose_size> pose_names = {{
    {coordinates}
}};
{classes}
}} // namespace {name}

#endif
"""

_CLASS = """
using Drives{end} = std::array<{real}, drive_count>; // rad, m
using Pose{end} = std::array<{real}, pose_size>;     // m, rad, quaternions x y z w
using Twist{end} = std::array<{real}, twist_size>;   // m/s, rad/s

class Kinematics{end} {{
public:
    Kinematics{end}() noexcept {{ reset(); }}

    void reset() noexcept {{ {name}_kinematics_reset{suffix}(&state_); }}
{set}
    // The pose x at coordinates q of the drives.
    Status forward(const Drives{end} &q, Pose{end} &x) noexcept
    {{
        return static_cast<Status>({name}_forward{suffix}(&state_, q.data(), x.data()));
    }}

    // The coordinates q of the drives at the pose x.
    Status inverse(const Pose{end} &x, Drives{end} &q) noexcept
    {{
        return static_cast<Status>({name}_inverse{suffix}(&state_, x.data(), q.data()));
    }}

    // At the last result: rates of the drives from the reduced twist, and back.
    Drives{end} rates(const Twist{end} &v) const noexcept
    {{
        Drives{end} q_dot{{}};
        {name}_rates{suffix}(&state_, v.data(), q_dot.data());
        return q_dot;
    }}

    Twist{end} twist(const Drives{end} &q_dot) const noexcept
    {{
        Twist{end} v{{}};
        {name}_twist{suffix}(&state_, q_dot.data(), v.data());
        return v;
    }}

    // The last result: q, x, margin, way and count may be read.
    const {struct} &state() const noexcept {{ return state_; }}

private:
    {struct} state_;
}};
"""

_SET = """
    // Other numbers of the robot, at its reference pose.
    Status set(const std::array<{real}, {count}> &parameters) noexcept
    {{
        return static_cast<Status>({name}_kinematics_set{suffix}(&state_, parameters.data()));
    }}
"""


def kinematics_hpp(package: Package, reals: Sequence[str], count: int) -> str:
    """The C++ header of a package; names of classes in float end in F where there are doubles, too.

    Args:
        package: the package.
        reals: "double", "float".
        count: how many numbers the kinematics take at run time.
    """
    robot, name = package.robot, package.name
    classes = []
    for real in reals:
        fields = {
            "name": name,
            "real": real,
            "end": "F" if real == "float" and len(reals) > 1 else "",
            "suffix": precision_suffix(real),
            "struct": f"{name}_kinematics{precision_suffix(real)}",
        }
        classes.append(_CLASS.format(**fields, set=_SET.format(**fields, count=count) if count else ""))
    return _HEADER.format(
        name=name,
        m=len(robot.actuators),
        nx=mechanism_of(robot).layout.nx,
        n=robot.motion.n,
        drives=", ".join(json.dumps(actuator.name, ensure_ascii=False) for actuator in robot.actuators),
        coordinates=", ".join(json.dumps(entry) for entry in mechanism_of(robot).layout.x_names),
        classes="".join(classes),
    )
