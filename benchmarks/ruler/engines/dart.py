"""DART, skeletons with ball and weld constraints, built from the description.

DART's constraints act on velocities and it has no constrained accelerations: frequencies are of velocities
after one step of 0.1 ms from rest. Steps: its semi-implicit Euler method, constraint error reduction 0.2,
constraint force mixing 1e-9, the least that DART takes. Springs and friction are applied forces: DART's own
springs are implicit, and take four fifths of the energy in a second.
"""

import dartpy as dart
import numpy as np
from engine import STEP, Engine

SHORT = 1e-4


class Adapter(Engine):
    packages = ("dartpy",)

    def build(self):
        self.refuse(armature="no rotor inertia")
        model = self.mechanism
        self.skeleton = dart.dynamics.Skeleton(self.robot["name"])
        placements, of_bodies = model.links()
        nodes = {}
        for k, parent in enumerate(model.parents):
            part = "Revolute" if model.turns[k] else "Prismatic"
            make = getattr(self.skeleton, f"create{part}JointAndBodyNodePair")
            joint, node = make(nodes[parent]) if parent >= 0 else make()
            joint.setAxis([0.0, 0.0, 1.0])
            joint.setTransformFromParentBodyNode(isometry(placements[k]))
            at, mass = of_bodies[k], model.mass[k]
            inertia = dart.dynamics.Inertia(
                mass, at.R @ model.com[k] + at.p, at.R @ model.inertia[k] @ at.R.T
            )
            node.setInertia(inertia)
            nodes[k] = node
        self.world = dart.simulation.World()
        self.world.addSkeleton(self.skeleton)
        self.world.setGravity(model.gravity)
        self.world.setTimeStep(STEP)
        self.set(np.array(model.column("value")), np.zeros(model.n))
        solver = self.world.getConstraintSolver()
        for (first, at, second, child_at), weld in zip(model.ends, model.welds, strict=True):
            ends = [nodes[body] for body in (first, second) if body >= 0]
            if weld:
                loop = dart.constraint.WeldJointConstraint(*ends)
            else:
                body, frame = (first, at) if first >= 0 else (second, child_at)
                point = model.poses(self.q0)[body] @ frame
                loop = dart.constraint.BallJointConstraint(*ends, point.p)
            loop.setConstraintForceMixing(1e-9)
            loop.setErrorAllowance(0.0)
            loop.setErrorReductionParameter(0.2)
            solver.addConstraint(loop)

    def set(self, q, v):
        self.q0 = q
        self.skeleton.setPositions(q)
        self.skeleton.setVelocities(v)

    def accelerations_at_rest(self, q):
        self.world.setTimeStep(SHORT)
        self.set(q, 0.0 * q)
        self.step()
        return self.skeleton.getVelocities() / SHORT

    def start(self, q, v):
        self.world.setTimeStep(STEP)
        self.set(q, v)

    def step(self):
        q, v = self.skeleton.getPositions(), self.skeleton.getVelocities()
        self.skeleton.setForces(self.joint_forces(q, v))
        self.world.step()

    def bodies(self):
        return self.tree_bodies(self.skeleton.getPositions(), self.skeleton.getVelocities())


def isometry(frame):
    result = dart.math.Isometry3()
    result.set_rotation(frame.R)
    result.set_translation(frame.p)
    return result
