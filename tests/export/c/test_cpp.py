"""The C++ header of the kinematics: it builds without a warning, and gives what Python gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.kinematics_fuzz import export_kinematics
from support.library import library_robot

needs_cpp = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wold-style-cast", "-Wshadow", "-pedantic", "-Werror")

_MAIN = """
#include "{name}.hpp"

#include <cmath>
#include <cstdio>

int main()
{{
    {name}::Kinematics robot;
    {name}::KinematicsF single;
    const {name}::Pose x{{{x}}};
    {name}::Drives q{{}};
    {name}::Pose back{{}};
    {name}::PoseF near{{}};
    {name}::DrivesF q_single{{}};
    if (robot.inverse(x, q) != {name}::Status::ok || robot.forward(q, back) != {name}::Status::ok) {{
        return 1;
    }}
    for (std::size_t i = 0; i < x.size(); ++i) {{
        near[i] = static_cast<float>(x[i]);
    }}
    if (!has_result(single.inverse(near, q_single))) {{
        return 2;
    }}
    {name}::Twist v{{}};
    v.fill(0.1);
    const auto q_dot = robot.rates(v);
    const auto again = robot.twist(q_dot);
    for (std::size_t i = 0; i < q.size(); ++i) {{
        std::printf("%s %.17g %.17g %.9g\\n", {name}::drive_names[i], q[i], q_dot[i],
                    static_cast<double>(q_single[i]));
    }}
    for (std::size_t i = 0; i < x.size(); ++i) {{
        std::printf("%s %.17g %.17g 0\\n", {name}::pose_names[i], back[i], again[i]);
    }}
    back[0] = std::nan("");
    const auto status = robot.inverse(back, q);
    std::printf("%s\\n", message(status));
    return (status == {name}::Status::invalid && q[0] == robot.state().q[0]) ? 0 : 3;
}}
"""


@needs_cpp
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("fivebar", ""), pytest.param("delta", "geometry", marks=pytest.mark.slow)],
)
def test_class(tmp_path: Path, name: str, parameters: str) -> None:
    robot = library_robot(name)
    package, prefix = export_kinematics(robot, tmp_path / "package", "both", parameters)
    pose = mechanism_of(robot).reference[0] + 0.02 * robot.size
    text = _MAIN.format(name=prefix, x=", ".join(map(repr, pose.tolist())))
    if parameters:
        numbers = ", ".join(map(repr, robot.numbers.vector(parameters).tolist()))
        text = text.replace(
            "    if (robot.inverse", f"    robot.set({{{{{numbers}}}}});\n    if (robot.inverse", 1
        )
    (tmp_path / "main.cpp").write_text(text)
    sources = sorted(map(str, package.glob("src/*.c")))
    subprocess.run(["gcc", "-std=c99", "-c", f"-I{package}/include", *sources], cwd=tmp_path, check=True)
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    command = ["g++", "-std=c++17", *WARNINGS, f"-I{package}/include", "-o", "main", "main.cpp"]
    done = subprocess.run(
        [*command, *objects, "-lm"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    output = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in output.splitlines()]
    m = len(robot.actuators)
    assert [row[0] for row in rows[:m]] == [actuator.name for actuator in robot.actuators]
    assert [row[0] for row in rows[m:-1]] == list(mechanism_of(robot).layout.x_names)
    assert rows[-1][:5] == ["an", "input", "is", "not", "finite,"]
    values = np.array([row[1:] for row in rows[:-1]], dtype=float)
    expected = nacelle.inverse_kinematics(robot, pose).q
    np.testing.assert_allclose(values[:m, 0], expected, atol=1e-13)
    np.testing.assert_allclose(values[:m, 2], expected, atol=1e-5)
    J = nacelle.jacobian(robot, pose).inverse
    np.testing.assert_allclose(values[:m, 1], J @ np.full(robot.motion.n, 0.1), rtol=1e-12)
    np.testing.assert_allclose(values[m:, 0], pose, atol=1e-13)
    np.testing.assert_allclose(values[m:, 1], 0.1, atol=1e-12)
