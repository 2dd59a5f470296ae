"""Drake, a discrete MultibodyPlant with ball and weld constraints, built from the description.

Loops need Drake's discrete mode with the SAP solver, which has no accelerations: frequencies are of
velocities after one step from rest; a step of 1 us gives no more digits. SAP, step 1 ms,
sap_near_rigid_threshold 0, the stiffest that Drake allows. Springs, viscous friction and rotors are
Drake's; smooth Coulomb friction is an applied generalised force.
"""

import numpy as np
from engine import STEP, Engine
from pydrake.all import (
    DiscreteContactApproximation,
    FixedOffsetFrame,
    MultibodyPlant,
    PrismaticJoint,
    PrismaticSpring,
    RevoluteJoint,
    RevoluteSpring,
    RigidTransform,
    RotationalInertia,
    RotationMatrix,
    Simulator,
    SpatialInertia,
)

KINDS = {True: (RevoluteJoint, RevoluteSpring), False: (PrismaticJoint, PrismaticSpring)}


class Adapter(Engine):
    packages = ("drake",)

    def build(self):
        self.plant = plant = MultibodyPlant(STEP)
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        plant.set_sap_near_rigid_threshold(0.0)
        plant.mutable_gravity_field().set_gravity_vector(self.mechanism.gravity)
        model, law = self.mechanism, self.joint_forces
        bodies = {-1: plant.world_body()}
        placements, of_bodies = model.links()
        parts = []
        for k, name in enumerate(model.names):
            I, at = model.inertia[k], of_bodies[k]
            rotation = (at.R @ I @ at.R.T)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            central = RotationalInertia(*rotation)
            com, mass = at.R @ model.com[k] + at.p, model.mass[k]
            inertia = (
                SpatialInertia.MakeFromCentralInertia(mass, com, central) if mass else SpatialInertia.Zero()
            )
            bodies[k] = plant.AddRigidBody(name, inertia)
            kind, spring = (
                (RevoluteJoint, RevoluteSpring) if model.turns[k] else (PrismaticJoint, PrismaticSpring)
            )
            place = transform(placements[k].R, placements[k].p)
            carrier = bodies[model.parents[k]].body_frame()
            frame = plant.AddFrame(FixedOffsetFrame(f"{name}-at", carrier, place))
            ends = frame, bodies[k].body_frame()
            joint = plant.AddJoint(kind(self.joints[k], *ends, [0.0, 0.0, 1.0], damping=law.viscous[k]))
            parts.append(joint)
            if law.stiffness[k]:
                plant.AddForceElement(spring(joint, law.rest[k], law.stiffness[k]))
            if armature := model.joints[k].get("armature"):
                actuator = plant.AddJointActuator(f"{self.joints[k]}-drive", joint)
                actuator.set_default_rotor_inertia(armature)
                actuator.set_default_gear_ratio(1.0)
        for (first, at, second, child_at), weld in zip(model.ends, model.welds, strict=True):
            a = at if first < 0 else of_bodies[first] @ at
            b = child_at if second < 0 else of_bodies[second] @ child_at
            if weld:
                plant.AddWeldConstraint(
                    bodies[first], transform(a.R, a.p), bodies[second], transform(b.R, b.p)
                )
            else:
                plant.AddBallConstraint(bodies[first], a.p, bodies[second], b.p)
        plant.Finalize()
        self.order = [joint.position_start() for joint in parts]
        self.simulator = Simulator(plant)
        self.context = self.simulator.get_mutable_context()
        if plant.num_actuators():
            plant.get_actuation_input_port().FixValue(self.context, np.zeros(plant.num_actuators()))

    def start(self, q, v):
        self.context.SetTime(0.0)
        self.plant.SetPositions(self.context, np.array(q)[np.argsort(self.order)])
        self.plant.SetVelocities(self.context, np.array(v)[np.argsort(self.order)])
        self.simulator.Initialize()
        self.count = 0

    def accelerations_at_rest(self, q):
        self.start(q, 0.0 * q)
        self.simulator.AdvanceTo(STEP)
        return self.plant.GetVelocities(self.context)[self.order] / STEP

    def step(self):
        if self.joint_forces.has_friction:
            law, v = self.joint_forces, self.plant.GetVelocities(self.context)[self.order]
            force = -law.coulomb * np.tanh(v / law.smooth)
            port = self.plant.get_applied_generalized_force_input_port()
            port.FixValue(self.context, force[np.argsort(self.order)])
        self.count += 1
        self.simulator.AdvanceTo(self.count * STEP)

    def bodies(self):
        q, v = self.plant.GetPositions(self.context), self.plant.GetVelocities(self.context)
        return self.tree_bodies(q[self.order], v[self.order])


def transform(R, p):
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(R), p)
