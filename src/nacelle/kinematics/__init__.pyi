from nacelle.kinematics.dependent import dependent_coordinates as dependent_coordinates
from nacelle.kinematics.flags import Flag as Flag
from nacelle.kinematics.forward import (
    Assemblies as Assemblies,
    ForwardKinematics as ForwardKinematics,
    forward_kinematics as forward_kinematics,
)
from nacelle.kinematics.jacobian import (
    Jacobian as Jacobian,
    Singularities as Singularities,
    body_jacobian as body_jacobian,
    joint_jacobian as joint_jacobian,
    leg_jacobians as leg_jacobians,
    platform_jacobian as platform_jacobian,
    singularities as singularities,
)
from nacelle.kinematics.legs.leg_type import (
    LegType as LegType,
    leg_type as leg_type,
    robot_elements as robot_elements,
)
from nacelle.kinematics.mechanism.check import Check as Check
from nacelle.kinematics.mechanism.mobility import Mobility as Mobility, mobility as mobility
from nacelle.kinematics.motion import (
    BodyMotion as BodyMotion,
    JointMotion as JointMotion,
    body_motion as body_motion,
    joint_motion as joint_motion,
    integrate_pose as integrate_pose,
)
from nacelle.kinematics.pose import pose as pose
from nacelle.kinematics.pose_input import reference_pose as reference_pose
from nacelle.kinematics.solve.inverse import (
    BodyPoses as BodyPoses,
    InverseKinematics as InverseKinematics,
    inverse_kinematics as inverse_kinematics,
)
from nacelle.kinematics.tools import ToolPose as ToolPose, tool_pose as tool_pose
from nacelle.kinematics.workspace import (
    WorkspaceBoundary as WorkspaceBoundary,
    Workspace as Workspace,
    workspace_boundary as workspace_boundary,
    workspace as workspace,
)
