from nacelle import (
    calibration as calibration,
    control as control,
    dynamics as dynamics,
    elastic as elastic,
    errors as errors,
    identification as identification,
    io as io,
    kinematics as kinematics,
    motion as motion,
    papers as papers,
    proof as proof,
    simulation as simulation,
    studies as studies,
    trajectory as trajectory,
    vision as vision,
)
from nacelle.compile import compile_function
from nacelle.datasheet import data_sheet as data_sheet
from nacelle.distribution import __version__ as __version__
from nacelle.dynamics import (
    base_parameters as base_parameters,
    bias_forces as bias_forces,
    forward_dynamics as forward_dynamics,
    gravity_forces as gravity_forces,
    inverse_dynamics as inverse_dynamics,
    jacobian as jacobian,
    joint_reactions as joint_reactions,
    kinetic_energy as kinetic_energy,
    mass_matrix as mass_matrix,
    model as model,
    potential_energy as potential_energy,
    regressor as regressor,
)
from nacelle.errors import (
    DescriptionError as DescriptionError,
    KinematicsError as KinematicsError,
    NacelleError as NacelleError,
    SingularError as SingularError,
    UnreachableError as UnreachableError,
)
from nacelle.io import export as export, export_robot as export_robot, import_robot as import_robot
from nacelle.kinematics import (
    Flag as Flag,
    pose as pose,
    reference_pose as reference_pose,
    inverse_kinematics as inverse_kinematics,
    forward_kinematics as forward_kinematics,
    singularities as singularities,
    workspace as workspace,
)
from nacelle.library import build as build, check as check, load as load, loads as loads
from nacelle.model.payload import with_payload as with_payload
from nacelle.model.robot import Robot as Robot
from nacelle.motion import time_optimal as time_optimal
from nacelle.proof.path import prove as prove
from nacelle.report.operations import operation_count as operation_count
from nacelle.robots import names
from nacelle.simulation import simulate as simulate
from nacelle.studies import Study as Study
from nacelle.trajectory import Circle as Circle, Line as Line, Waypoints as Waypoints
from nacelle.verify import verify as verify
from nacelle.view.viewer import view as view

compile = compile_function
robot_names = names
