"""Dynamics of parallel robots, from one description to the controller.

This is the public API: what users call is named here. A name is imported from its module when it is first
used, so that `import nacelle` itself costs next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nacelle.pictures import register_page, register_pictures
from nacelle.public import HOMES, PICTURES

if TYPE_CHECKING:
    from nacelle.compile import Compiled, Parametric
    from nacelle.compile import compile_function as compile
    from nacelle.control.compare import Comparison, compare
    from nacelle.control.controller import Controller
    from nacelle.control.loop.closed_loop import closed_loop
    from nacelle.control.loop.run import ControlRun
    from nacelle.control.named import controller
    from nacelle.control.scenario.scenario import Scenario, read_scenario
    from nacelle.control.vision.camera_file import read_camera
    from nacelle.control.vision.comparison import LookingBench, LookingComparison, compare_looking
    from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
    from nacelle.dynamics.derivatives.derivatives import DynamicsDerivatives, dynamics_derivatives
    from nacelle.dynamics.derivatives.linear import LinearModel, Pole, linearise
    from nacelle.dynamics.equilibrium import equilibrium, equilibrium_pose
    from nacelle.dynamics.forward import (
        ForwardDynamics,
        bias_forces,
        dissipation,
        forward_dynamics,
        gravity_forces,
        kinetic_energy,
        mass_matrix,
        potential_energy,
    )
    from nacelle.dynamics.gravity_balance import (
        BalanceSpring,
        Counterweight,
        GravityBalance,
        balance_gravity,
    )
    from nacelle.dynamics.inverse import InverseDynamics, inverse_dynamics
    from nacelle.dynamics.jacobian import jacobian
    from nacelle.dynamics.models import Model, model
    from nacelle.dynamics.reactions import PeakReactions, Reactions, joint_reactions, peak_reactions
    from nacelle.dynamics.regressor import Regressor, regressor
    from nacelle.dynamics.sizing import Sizing, size_motors
    from nacelle.elastic.linear.frequencies import (
        FrequencyMap,
        NaturalFrequencies,
        frequency_map,
        natural_frequencies,
    )
    from nacelle.elastic.linear.response import FrequencyResponse, compliance, frequency_response
    from nacelle.elastic.linear.statics import Buckling, StaticDeflection, buckling, static_deflection
    from nacelle.elastic.named import elastic_model
    from nacelle.elastic.plant import ElasticPlant
    from nacelle.errors import (
        AssemblyError,
        BucklingError,
        CalibrationError,
        CompileError,
        DescriptionError,
        DeviceError,
        ExportError,
        IdentificationError,
        KinematicsError,
        MeasurementError,
        NacelleError,
        ObserverError,
        ParameterError,
        Problem,
        SingularError,
        TableError,
        TooLargeError,
        UnderactuatedError,
        UnknownRobotError,
        UnobservableError,
        UnreachableError,
    )
    from nacelle.exchange.exported import ExportedRobot, export_robot
    from nacelle.exchange.imported import Imported, import_robot
    from nacelle.export.export import Export, export
    from nacelle.identification.consistency.consistent import ConsistentParameters, consistent_parameters
    from nacelle.identification.consistency.identified import identified_robot, write_identified
    from nacelle.identification.data.checks.check import check_measurement
    from nacelle.identification.data.measurement import Measurement
    from nacelle.identification.data.preparation import Preparation, Samples, prepare
    from nacelle.identification.data.read import read_measurement
    from nacelle.identification.estimation.closed_loop import DirectInverse, InstrumentalVariables
    from nacelle.identification.estimation.estimator import CadPrior
    from nacelle.identification.estimation.least_squares import (
        OrdinaryLeastSquares,
        ReweightedLeastSquares,
        WeightedLeastSquares,
    )
    from nacelle.identification.estimation.payload import PayloadEstimate, payload_from_runs
    from nacelle.identification.excitation.excite import excite
    from nacelle.identification.excitation.result import Excitation
    from nacelle.identification.identify import Identification, identify
    from nacelle.identification.rehearsal.rehearsal import Experiment, Rehearsal, rehearse
    from nacelle.identification.validation import Validation, validate
    from nacelle.kinematics.dependent import dependent_coordinates
    from nacelle.kinematics.flags import Flag
    from nacelle.kinematics.forward import Assemblies, ForwardKinematics, forward_kinematics
    from nacelle.kinematics.jacobian import (
        Jacobian,
        Singularities,
        body_jacobian,
        joint_jacobian,
        leg_jacobians,
        platform_jacobian,
        singularities,
    )
    from nacelle.kinematics.legs.leg_type import LegType, leg_type, robot_elements
    from nacelle.kinematics.mechanism.check import Check
    from nacelle.kinematics.mechanism.mobility import Mobility, mobility
    from nacelle.kinematics.motion import BodyMotion, JointMotion, body_motion, joint_motion, moved
    from nacelle.kinematics.pose import pose
    from nacelle.kinematics.pose_input import reference_pose
    from nacelle.kinematics.solve.inverse import BodyPoses, InverseKinematics, inverse_kinematics
    from nacelle.kinematics.tools import ToolPose, tool_pose
    from nacelle.kinematics.workspace import Reach, Workspace, reach, workspace
    from nacelle.library import build, check, load, loads
    from nacelle.model.data import Actuator
    from nacelle.model.linear_parameters import (
        LinearParameters,
        linear_parameters,
        with_linear_parameters,
    )
    from nacelle.model.payload import carrying, with_payload
    from nacelle.model.robot import Robot
    from nacelle.papers.elements.project import ElementProjection, SeenVariable, project_elements
    from nacelle.papers.elements.state import ElementState, element_state
    from nacelle.papers.registration import NAMES as FORMULATIONS
    from nacelle.report.sheet.sheet import DataSheet
    from nacelle.robots import names as robot_names
    from nacelle.scene.figure import animate
    from nacelle.simulation.digital_controller import DigitalController
    from nacelle.simulation.driven_plant import DrivenPlant
    from nacelle.simulation.drives import Cogging, Drives, LuGre, Stiction, stiction_of
    from nacelle.simulation.feedback import feedback
    from nacelle.simulation.many import Motions, simulate_many
    from nacelle.simulation.plant import RigidPlant, standard_events
    from nacelle.simulation.protocol import Event, EventGroup, Feedback, Plant, user_event
    from nacelle.simulation.sensors import Sensors
    from nacelle.simulation.simulate import Simulation, simulate
    from nacelle.spatial.physics import physics
    from nacelle.trajectory import (
        BangBang,
        BSpline,
        Chain,
        Circle,
        Cubic,
        Fourier,
        Line,
        Polyline,
        Quintic,
        Sample,
        Trajectory,
        TrajectoryError,
        Trapezoid,
        Uniform,
        Waypoints,
        read_waypoints,
        scale_to_limits,
        time_scaled,
    )
    from nacelle.trajectory.along import along
    from nacelle.trajectory.tool import ToolTrajectory
    from nacelle.view.viewer import Viewer, view
    from nacelle.vision.camera import Camera, Shutter
    from nacelle.vision.image.pixel_model import PixelModel
    from nacelle.vision.observation import Observation, observe
    from nacelle.vision.observer.observer import Observer
    from nacelle.vision.observer.settings import ObserverSettings
    from nacelle.vision.placing import camera_for

__version__ = "0.1.0"
__all__ = [
    "FORMULATIONS",
    "Actuator",
    "Assemblies",
    "AssemblyError",
    "BSpline",
    "BalanceSpring",
    "BangBang",
    "BaseParameters",
    "BodyMotion",
    "BodyPoses",
    "Buckling",
    "BucklingError",
    "CadPrior",
    "CalibrationError",
    "Camera",
    "Chain",
    "Check",
    "Circle",
    "Cogging",
    "Comparison",
    "CompileError",
    "Compiled",
    "ConsistentParameters",
    "ControlRun",
    "Controller",
    "Counterweight",
    "Cubic",
    "DataSheet",
    "DescriptionError",
    "DeviceError",
    "DigitalController",
    "DirectInverse",
    "DrivenPlant",
    "Drives",
    "DynamicsDerivatives",
    "ElasticPlant",
    "ElementProjection",
    "ElementState",
    "Event",
    "EventGroup",
    "Excitation",
    "Experiment",
    "Export",
    "ExportError",
    "ExportedRobot",
    "Feedback",
    "Flag",
    "ForwardDynamics",
    "ForwardKinematics",
    "Fourier",
    "FrequencyMap",
    "FrequencyResponse",
    "GravityBalance",
    "Identification",
    "IdentificationError",
    "Imported",
    "InstrumentalVariables",
    "InverseDynamics",
    "InverseKinematics",
    "Jacobian",
    "JointMotion",
    "KinematicsError",
    "LegType",
    "Line",
    "LinearModel",
    "LinearParameters",
    "LookingBench",
    "LookingComparison",
    "LuGre",
    "Measurement",
    "MeasurementError",
    "Mobility",
    "Model",
    "Motions",
    "NacelleError",
    "NaturalFrequencies",
    "Observation",
    "Observer",
    "ObserverError",
    "ObserverSettings",
    "OrdinaryLeastSquares",
    "ParameterError",
    "Parametric",
    "PayloadEstimate",
    "PeakReactions",
    "PixelModel",
    "Plant",
    "Pole",
    "Polyline",
    "Preparation",
    "Problem",
    "Quintic",
    "Reach",
    "Reactions",
    "Regressor",
    "Rehearsal",
    "ReweightedLeastSquares",
    "RigidPlant",
    "Robot",
    "Sample",
    "Samples",
    "Scenario",
    "SeenVariable",
    "Sensors",
    "Shutter",
    "Simulation",
    "SingularError",
    "Singularities",
    "Sizing",
    "StaticDeflection",
    "Stiction",
    "TableError",
    "TooLargeError",
    "ToolPose",
    "ToolTrajectory",
    "Trajectory",
    "TrajectoryError",
    "Trapezoid",
    "UnderactuatedError",
    "Uniform",
    "UnknownRobotError",
    "UnobservableError",
    "UnreachableError",
    "Validation",
    "Viewer",
    "Waypoints",
    "WeightedLeastSquares",
    "Workspace",
    "__version__",
    "along",
    "animate",
    "balance_gravity",
    "base_parameters",
    "bias_forces",
    "body_jacobian",
    "body_motion",
    "buckling",
    "build",
    "camera_for",
    "carrying",
    "check",
    "check_measurement",
    "closed_loop",
    "compare",
    "compare_looking",
    "compile",
    "compliance",
    "consistent_parameters",
    "controller",
    "data_sheet",
    "dependent_coordinates",
    "dissipation",
    "dynamics_derivatives",
    "elastic_model",
    "element_state",
    "equilibrium",
    "equilibrium_pose",
    "excite",
    "export",
    "export_robot",
    "feedback",
    "forward_dynamics",
    "forward_kinematics",
    "frequency_map",
    "frequency_response",
    "gravity_forces",
    "identified_robot",
    "identify",
    "import_robot",
    "inverse_dynamics",
    "inverse_kinematics",
    "jacobian",
    "joint_jacobian",
    "joint_motion",
    "joint_reactions",
    "kinetic_energy",
    "leg_jacobians",
    "leg_type",
    "linear_parameters",
    "linearise",
    "load",
    "loads",
    "mass_matrix",
    "mobility",
    "model",
    "moved",
    "natural_frequencies",
    "observe",
    "operation_count",
    "payload_from_runs",
    "peak_reactions",
    "physics",
    "platform_jacobian",
    "pose",
    "potential_energy",
    "prepare",
    "project_elements",
    "reach",
    "read_camera",
    "read_measurement",
    "read_scenario",
    "read_waypoints",
    "reference_pose",
    "regressor",
    "rehearse",
    "robot_elements",
    "robot_names",
    "scale_to_limits",
    "schema",
    "simulate",
    "simulate_many",
    "singularities",
    "size_motors",
    "standard_events",
    "static_deflection",
    "stiction_of",
    "time_scaled",
    "tool_pose",
    "user_event",
    "validate",
    "view",
    "with_linear_parameters",
    "with_payload",
    "workspace",
    "write_identified",
]


if not TYPE_CHECKING:  # with a __getattr__, type checkers would accept every misspelt name

    def __getattr__(name: str) -> Any:
        """Import a public name, or a module of the package, when it is first used."""
        if name in HOMES:
            module, inside = HOMES[name]
            value = getattr(importlib.import_module(module), inside)
            globals()[name] = value
            return value
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"{__name__}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{__name__}.{name}":
                    raise
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )

    def __dir__() -> list[str]:
        """All public names, imported yet or not, and what is there besides."""
        return sorted({*globals(), *__all__})

    class _Package(ModuleType):
        """The package: a public name keeps its meaning where a module of the package has the same name.

        Importing `nacelle.model` would otherwise put the module in the place of the function `nacelle.model`.
        """

        def __setattr__(self, name: str, value: object) -> None:
            if not (isinstance(value, ModuleType) and name in HOMES):
                super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Package


def operation_count(robot: Robot, name: str = "inverse_dynamics", **options: Any) -> Any:
    """Operations of a model by class and stage; options as in `nacelle.report.operations.operation_count`."""
    from nacelle.report.operations import operation_count as counted

    return counted(robot, name, **options)


def data_sheet(robot: Any, *, verify: bool = True, **options: Any) -> DataSheet:
    """Data sheet of a robot, a name of the library or a file, also compared with other engines if `verify`.

    Options as in `nacelle.report.sheet.sheet.data_sheet`.
    """
    from nacelle.report.sheet.sheet import data_sheet as made
    from nacelle.verify import verify as compared

    return made(robot, verifier=compared if verify else None, **options)


def schema() -> dict[str, Any]:
    """JSON schema of the description format, for editors and other tools."""
    from nacelle.model.description.schema import shipped_schema

    return shipped_schema()


def _drawn(home: str, name: str) -> Any:
    """What draws an object by a function of the reports, which is imported when it is first called."""

    def plot(self: Any, *given: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"nacelle.report.{home}"), name)(self, *given, **options)

    plot.__name__ = f"_{name}"
    plot.__doc__ = f"Draw it; arguments as in `nacelle.report.{home}.{name}`."
    return plot


def _shown(result: Any) -> str:
    """A robot or a result as a table for notebooks."""
    from nacelle.report.notebook.page import html_of

    return html_of(result)


# Pictures are registered here: the classes that they show know nothing of them.
register_pictures(**{name: _drawn(*home) for name, home in PICTURES.items()})
register_page(_shown)
