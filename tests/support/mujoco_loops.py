"""A robot with its loops and springs in MuJoCo, to be stepped there: its solver holds loops softly."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco as mj

from nacelle.model.joint import JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.verify.engine import VerifyError
from nacelle.verify.engines import mujoco


@dataclass(frozen=True)
class ConstraintSettings:
    """How MuJoCo holds loops together: each spherical closure as `connect`, soft within these settings.

    Attributes:
        solref: time constant (s) and damping ratio of what calls a gap back.
        impedance: how hard it is, below 1; MuJoCo goes up to 0.9999.
    """

    solref: tuple[float, float] = (0.02, 1.0)
    impedance: tuple[float, float] = (0.9, 0.95)


def build_engine(robot: Robot, bonds: ConstraintSettings) -> mujoco.MujocoEngine:
    """The tree of a robot with its loops and its springs.

    Raises:
        VerifyError: if a closure is not spherical.
    """
    spec, carriers = mujoco.specification(robot)
    _add_closure_constraints(robot, spec, carriers, bonds)
    engine = mujoco.mujoco_engine(robot, spec)
    _write_springs(robot, engine.model)
    # What the compiler has derived from the inertias that stood in for the true ones.
    mj.mj_setConst(engine.model, mj.MjData(engine.model))
    return engine


def _add_closure_constraints(
    robot: Robot, spec: mj.MjSpec, carriers: dict[int, tuple[mj.MjsBody, Pose]], bonds: ConstraintSettings
) -> None:
    """Hold the two ends of each closure together."""
    for number, joint in enumerate(robot.closures):
        if joint.kind is not JointKind.SPHERICAL:
            raise VerifyError(
                f"closure {joint.name!r} of {robot.name} is {joint.kind.value}: loops are closed in MuJoCo "
                "where all closures are spherical"
            )
        names = [f"closure {number}, end {end}" for end in (1, 2)]
        ends = ((joint.predecessor, joint.frame_predecessor), (joint.successor, joint.frame_successor))
        for name, (body, local) in zip(names, ends, strict=True):
            carrier, placement = carriers[body]
            carrier.add_site(name=name, pos=(placement @ local).p)
        made = spec.add_equality(
            type=mj.mjtEq.mjEQ_CONNECT, objtype=mj.mjtObj.mjOBJ_SITE, name1=names[0], name2=names[1]
        )
        made.solref, made.solimp = list(bonds.solref), [*bonds.impedance, 0.001, 0.5, 2.0]


def _write_springs(robot: Robot, model: mj.MjModel) -> None:
    """Write the springs of the tree's joints into the compiled model."""
    for number, joint in enumerate(robot.tree_joints):
        for step, spring in enumerate(joint.springs):
            if spring is not None:
                made = mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, f"{number}.{step}")
                model.jnt_stiffness[made] = spring.stiffness
                model.qpos_spring[model.jnt_qposadr[made]] = spring.rest
