"""Exudyn: ObjectKinematicTree with SphericalJoint and GenericJoint at the loops, built from the description.

Accelerations: the initial accelerations of the implicit solver. Steps: generalised-alpha method with index
3 and spectral radius 1, Newton to 1e-12 relative and 1e-14 absolute, dense Eigen solver that ignores
singular Jacobians, which redundant constraints have. Springs and viscous friction are the tree's P and D
control, rotors a mass matrix on its coordinates, smooth Coulomb friction a user function.
"""

import exudyn as exu
import numpy as np
from engine import STEP, Engine
from exudyn import itemInterface


class Adapter(Engine):
    packages = ("exudyn",)

    def build(self):
        self.container = exu.SystemContainer()
        self.mbs = mbs = self.container.AddSystem()
        model, n = self.mechanism, self.mechanism.n
        placements, of_bodies = model.links()
        law = self.joint_forces
        self.node = mbs.AddNode(
            itemInterface.NodeGenericODE2(
                numberOfODE2Coordinates=n,
                referenceCoordinates=[0.0] * n,
                initialCoordinates=[0.0] * n,
                initialCoordinates_t=[0.0] * n,
            )
        )
        kinds = exu.JointType.RevoluteZ, exu.JointType.PrismaticZ
        tree = itemInterface.ObjectKinematicTree(
            nodeNumber=self.node,
            jointTypes=[kinds[0] if turns else kinds[1] for turns in model.turns],
            linkParents=model.parents,
            jointTransformations=exu.Matrix3DList([frame.R for frame in placements]),
            jointOffsets=exu.Vector3DList([frame.p for frame in placements]),
            linkInertiasCOM=exu.Matrix3DList(
                [at.R @ I @ at.R.T for at, I in zip(of_bodies, model.inertia, strict=True)]
            ),
            linkCOMs=exu.Vector3DList([at.R @ c + at.p for at, c in zip(of_bodies, model.com, strict=True)]),
            linkMasses=list(model.mass),
            gravity=list(model.gravity),
            jointPControlVector=list(law.stiffness),
            jointPositionOffsetVector=list(law.rest),
            jointVelocityOffsetVector=[0.0] * n,
            jointDControlVector=list(law.viscous),
            jointForceVector=[0.0] * n,
        )
        if law.has_friction:
            tree.forceUserFunction = lambda mbs, t, item, q, v: (
                -law.coulomb * np.tanh(np.array(v) / law.smooth)
            )
        self.tree = mbs.AddObject(tree)
        armature = np.diag(model.column("armature"))
        if np.any(armature):
            mbs.AddObject(itemInterface.ObjectGenericODE2(nodeNumbers=[self.node], massMatrix=armature))
        ground = mbs.AddObject(itemInterface.ObjectGround())
        for (first, at, second, child_at), weld in zip(model.ends, model.welds, strict=True):
            sides = ((first, at), (second, child_at))
            (marker, R), (another, C) = (self.end(ground, body, frame, of_bodies) for body, frame in sides)
            markers = [marker, another]
            if weld:
                turned = {"rotationMarker0": R, "rotationMarker1": C}
                mbs.AddObject(
                    itemInterface.GenericJoint(markerNumbers=markers, constrainedAxes=[1] * 6, **turned)
                )
            else:
                mbs.AddObject(itemInterface.SphericalJoint(markerNumbers=markers))
        mbs.Assemble()
        self.settings = exu.SimulationSettings()
        self.settings.linearSolverType = exu.LinearSolverType.EigenDense
        self.settings.linearSolverSettings.ignoreSingularJacobian = True
        self.settings.solutionSettings.writeSolutionToFile = False
        integration = self.settings.timeIntegration
        integration.newton.relativeTolerance, integration.newton.absoluteTolerance = 1e-12, 1e-14
        integration.generalizedAlpha.spectralRadius = 1.0
        integration.generalizedAlpha.computeInitialAccelerations = True
        integration.verboseMode = 0

    def end(self, ground, body, frame, of_bodies):
        if body < 0:
            return self.mbs.AddMarker(
                itemInterface.MarkerBodyRigid(bodyNumber=ground, localPosition=list(frame.p))
            ), frame.R
        at = of_bodies[body] @ frame
        marker = itemInterface.MarkerKinematicTreeRigid(
            objectNumber=self.tree, linkNumber=body, localPosition=list(at.p)
        )
        return self.mbs.AddMarker(marker), at.R

    def set(self, q, v, tau=0.0):
        data = self.mbs.systemData
        data.SetODE2Coordinates(q, exu.ConfigurationType.Initial)
        data.SetODE2Coordinates_t(v, exu.ConfigurationType.Initial)
        self.mbs.SetObjectParameter(self.tree, "jointForceVector", list(self.drive_vector(tau)))

    def accelerations(self, q, v, tau):
        self.set(q, v, tau)
        solver = exu.MainSolverImplicitSecondOrder()
        solver.InitializeSolver(self.mbs, self.settings)
        found = np.array(self.mbs.systemData.GetODE2Coordinates_tt(exu.ConfigurationType.Current))
        solver.FinalizeSolver(self.mbs, self.settings)
        return found

    def start(self, q, v):
        self.set(q, v)
        self.state = q, v

    def run(self, seconds):
        integration = self.settings.timeIntegration
        integration.endTime, integration.numberOfSteps = seconds, round(seconds / STEP)
        self.mbs.SolveDynamic(self.settings)
        data = self.mbs.systemData
        self.state = np.array(data.GetODE2Coordinates()), np.array(data.GetODE2Coordinates_t())

    def bodies(self):
        return self.tree_bodies(*self.state)
