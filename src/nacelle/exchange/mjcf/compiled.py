"""An MJCF file compiled by `mujoco`, with the names that its bodies and joints get and its places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import mujoco as mj
import numpy as np

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, ExchangeReport, broken
from nacelle.exchange.mjcf.strip import stripped
from nacelle.exchange.names import Names
from nacelle.exchange.xml import Element, read_xml, text_of, with_includes
from nacelle.spatial.scalar import Array

_MESHES = "give the bodies whose mass comes from meshes, which are not read, an <inertial>"


@dataclass(frozen=True, eq=False)
class CompiledMjcf:
    """A compiled file.

    Attributes:
        model: the model.
        file: its path.
        root: the file as XML, without what is only seen.
        bodies: names of the bodies, the base first.
        joints: names of the joints.
        taken: the names of bodies, to make others.
        report: what was done and lost.
    """

    model: mj.MjModel
    file: Path
    root: Element
    bodies: list[str]
    joints: list[str]
    taken: Names
    report: ExchangeReport

    def name(self, kind: str, number: int) -> str:
        """The name that something has in the file; empty if it has none."""
        return mj.mj_id2name(self.model, getattr(mj.mjtObj, f"mjOBJ_{kind}"), number) or ""

    def equality(self, k: int) -> Element:
        """The element of an equality."""
        listed = [child for section in self.root.named("equality") for child in section.children]
        return listed[k] if len(listed) == self.model.neq else self.root

    def drawn(self, joint: int) -> float:
        """The coordinate of a hinge or slide in the drawn pose."""
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])


def compile_mjcf(path: Path, report: ExchangeReport) -> CompiledMjcf:
    """Compile a file, without what is only seen.

    Raises:
        DescriptionError: with the place of what is wrong.
    """
    root = stripped(with_includes(read_xml(path), path.parent), report)
    warnings: list[str] = []
    # Without a listener MuJoCo writes its warnings to a file in the current folder.
    mj.set_mju_user_warning(warnings.append)
    try:
        model = mj.MjModel.from_xml_string(text_of(root))
    except (ValueError, RuntimeError, mj.FatalError) as error:
        raise _refused(path, str(error), report) from None
    finally:
        mj.set_mju_user_warning(None)
    for warning in warnings:
        report.done(f"MuJoCo warns: {' '.join(str(warning).split())}")
    taken, names = Names(), Names()

    def given(kind: mj.mjtObj, number: int) -> str:
        return mj.mj_id2name(model, kind, number) or ""

    bodies = [taken.new(given(mj.mjtObj.mjOBJ_BODY, b), f"body{b}") for b in range(1, model.nbody)]
    joints = [names.new(given(mj.mjtObj.mjOBJ_JOINT, j), f"joint{j}") for j in range(model.njnt)]
    return CompiledMjcf(model, path, root, [BASE, *bodies], joints, taken, report)


def _refused(path: Path, error: str, report: ExchangeReport) -> DescriptionError:
    """What MuJoCo says against a file, at its line."""
    words = " ".join(error.split())
    line = re.search(r"line (\d+)", words)
    message = re.sub(r"^(XML )?Error: ", "", words)
    without_mass = "mjMINVAL" in words and any("with the mass" in loss for loss in report.losses)
    hint = _MESHES if without_mass else ""
    return broken(str(path), f"MuJoCo cannot read it: {message}", hint, int(line[1]) if line else 0)


def quaternion_rotation(quat_wxyz: Array) -> Array:
    """The rotation (3, 3) of a quaternion in MuJoCo's order."""
    R = np.zeros(9)
    mj.mju_quat2Mat(R, np.asarray(quat_wxyz, dtype=float) / np.linalg.norm(quat_wxyz))
    return R.reshape(3, 3)
