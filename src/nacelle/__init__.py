"""Dynamics of parallel robots, from one description to the controller.

This is the public API: what users call is named here, once. Type checkers read the imports below as they are;
Python imports a name from its module when it is first used (`nacelle.public` reads the same lines), so that
`import nacelle` itself costs next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nacelle.pictures import register_page, register_pictures
from nacelle.public import HOMES, PICTURES

if TYPE_CHECKING:
    from nacelle.compile import Compiled as Compiled, Parametric as Parametric, compile_function
    from nacelle.control.compare import Comparison as Comparison, compare as compare
    from nacelle.control.controller import Controller as Controller
    from nacelle.control.loop.closed_loop import closed_loop as closed_loop
    from nacelle.control.loop.run import ControlRun as ControlRun
    from nacelle.control.named import controller as controller
    from nacelle.control.scenario.scenario import Scenario as Scenario, read_scenario as read_scenario
    from nacelle.control.vision.camera_file import read_camera as read_camera
    from nacelle.control.vision.comparison import (
        LookingBench as LookingBench,
        LookingComparison as LookingComparison,
        compare_looking as compare_looking,
    )
    from nacelle.dynamics.base_parameters.base_parameters import (
        BaseParameters as BaseParameters,
        base_parameters as base_parameters,
    )
    from nacelle.dynamics.derivatives.derivatives import (
        DynamicsDerivatives as DynamicsDerivatives,
        dynamics_derivatives as dynamics_derivatives,
    )
    from nacelle.dynamics.derivatives.linear import (
        LinearModel as LinearModel,
        Pole as Pole,
        linearise as linearise,
    )
    from nacelle.dynamics.equilibrium import equilibrium as equilibrium, equilibrium_pose as equilibrium_pose
    from nacelle.dynamics.forward import (
        ForwardDynamics as ForwardDynamics,
        bias_forces as bias_forces,
        dissipation as dissipation,
        forward_dynamics as forward_dynamics,
        gravity_forces as gravity_forces,
        kinetic_energy as kinetic_energy,
        mass_matrix as mass_matrix,
        potential_energy as potential_energy,
    )
    from nacelle.dynamics.gravity_balance import (
        BalanceSpring as BalanceSpring,
        Counterweight as Counterweight,
        GravityBalance as GravityBalance,
        balance_gravity as balance_gravity,
    )
    from nacelle.dynamics.inverse import (
        InverseDynamics as InverseDynamics,
        inverse_dynamics as inverse_dynamics,
    )
    from nacelle.dynamics.jacobian import jacobian as jacobian
    from nacelle.dynamics.models import Model as Model, model as model
    from nacelle.dynamics.reactions import (
        PeakReactions as PeakReactions,
        Reactions as Reactions,
        joint_reactions as joint_reactions,
        peak_reactions as peak_reactions,
    )
    from nacelle.dynamics.regressor import Regressor as Regressor, regressor as regressor
    from nacelle.dynamics.sizing import Sizing as Sizing, size_motors as size_motors
    from nacelle.elastic.linear.frequencies import (
        FrequencyMap as FrequencyMap,
        NaturalFrequencies as NaturalFrequencies,
        frequency_map as frequency_map,
        natural_frequencies as natural_frequencies,
    )
    from nacelle.elastic.linear.response import (
        FrequencyResponse as FrequencyResponse,
        compliance as compliance,
        frequency_response as frequency_response,
    )
    from nacelle.elastic.linear.statics import (
        Buckling as Buckling,
        StaticDeflection as StaticDeflection,
        buckling as buckling,
        static_deflection as static_deflection,
    )
    from nacelle.elastic.named import elastic_model as elastic_model
    from nacelle.elastic.plant import ElasticPlant as ElasticPlant
    from nacelle.errors import (
        AssemblyError as AssemblyError,
        BucklingError as BucklingError,
        CalibrationError as CalibrationError,
        CompileError as CompileError,
        DescriptionError as DescriptionError,
        DeviceError as DeviceError,
        ExportError as ExportError,
        IdentificationError as IdentificationError,
        KinematicsError as KinematicsError,
        MeasurementError as MeasurementError,
        NacelleError as NacelleError,
        ObserverError as ObserverError,
        ParameterError as ParameterError,
        Problem as Problem,
        SingularError as SingularError,
        TableError as TableError,
        TooLargeError as TooLargeError,
        UnderactuatedError as UnderactuatedError,
        UnknownRobotError as UnknownRobotError,
        UnobservableError as UnobservableError,
        UnreachableError as UnreachableError,
    )
    from nacelle.exchange.exported import ExportedRobot as ExportedRobot, export_robot as export_robot
    from nacelle.exchange.imported import Imported as Imported, import_robot as import_robot
    from nacelle.export.export import Export as Export, export as export
    from nacelle.identification.consistency.consistent import (
        ConsistentParameters as ConsistentParameters,
        consistent_parameters as consistent_parameters,
    )
    from nacelle.identification.consistency.identified import (
        identified_robot as identified_robot,
        write_identified as write_identified,
    )
    from nacelle.identification.data.checks.check import check_measurement as check_measurement
    from nacelle.identification.data.measurement import Measurement as Measurement
    from nacelle.identification.data.preparation import (
        Preparation as Preparation,
        Samples as Samples,
        prepare as prepare,
    )
    from nacelle.identification.data.read import read_measurement as read_measurement
    from nacelle.identification.estimation.closed_loop import (
        DirectInverse as DirectInverse,
        InstrumentalVariables as InstrumentalVariables,
    )
    from nacelle.identification.estimation.estimator import CadPrior as CadPrior
    from nacelle.identification.estimation.least_squares import (
        OrdinaryLeastSquares as OrdinaryLeastSquares,
        ReweightedLeastSquares as ReweightedLeastSquares,
        WeightedLeastSquares as WeightedLeastSquares,
    )
    from nacelle.identification.estimation.payload import (
        PayloadEstimate as PayloadEstimate,
        payload_from_runs as payload_from_runs,
    )
    from nacelle.identification.excitation.excite import excite as excite
    from nacelle.identification.excitation.result import Excitation as Excitation
    from nacelle.identification.identify import Identification as Identification, identify as identify
    from nacelle.identification.rehearsal.rehearsal import (
        Experiment as Experiment,
        Rehearsal as Rehearsal,
        rehearse as rehearse,
    )
    from nacelle.identification.validation import Validation as Validation, validate as validate
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
        moved as moved,
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
        Reach as Reach,
        Workspace as Workspace,
        reach as reach,
        workspace as workspace,
    )
    from nacelle.library import build as build, check as check, load as load, loads as loads
    from nacelle.model.data import Actuator as Actuator
    from nacelle.model.linear_parameters import (
        LinearParameters as LinearParameters,
        linear_parameters as linear_parameters,
        with_linear_parameters as with_linear_parameters,
    )
    from nacelle.model.payload import carrying as carrying, with_payload as with_payload
    from nacelle.model.robot import Robot as Robot
    from nacelle.papers.elements.project import (
        ElementProjection as ElementProjection,
        SeenVariable as SeenVariable,
        project_elements as project_elements,
    )
    from nacelle.papers.elements.state import ElementState as ElementState, element_state as element_state
    from nacelle.papers import registration
    from nacelle.report.sheet.sheet import DataSheet as DataSheet
    from nacelle.robots import names
    from nacelle.scene.figure import animate as animate
    from nacelle.simulation.digital_controller import DigitalController as DigitalController
    from nacelle.simulation.driven_plant import DrivenPlant as DrivenPlant
    from nacelle.simulation.drives import (
        Cogging as Cogging,
        Drives as Drives,
        LuGre as LuGre,
        Stiction as Stiction,
        stiction_of as stiction_of,
    )
    from nacelle.simulation.feedback import feedback as feedback
    from nacelle.simulation.many import Motions as Motions, simulate_many as simulate_many
    from nacelle.simulation.plant import RigidPlant as RigidPlant, standard_events as standard_events
    from nacelle.simulation.protocol import (
        Event as Event,
        EventGroup as EventGroup,
        Feedback as Feedback,
        Plant as Plant,
        user_event as user_event,
    )
    from nacelle.simulation.sensors import Sensors as Sensors
    from nacelle.simulation.simulate import Simulation as Simulation, simulate as simulate
    from nacelle.spatial.physics import physics as physics
    from nacelle.trajectory import (
        BangBang as BangBang,
        BSpline as BSpline,
        Chain as Chain,
        Circle as Circle,
        Cubic as Cubic,
        Fourier as Fourier,
        Line as Line,
        Polyline as Polyline,
        Quintic as Quintic,
        Sample as Sample,
        Trajectory as Trajectory,
        TrajectoryError as TrajectoryError,
        Trapezoid as Trapezoid,
        Uniform as Uniform,
        Waypoints as Waypoints,
        read_waypoints as read_waypoints,
        scale_to_limits as scale_to_limits,
        time_scaled as time_scaled,
    )
    from nacelle.trajectory.along import along as along
    from nacelle.trajectory.tool import ToolTrajectory as ToolTrajectory
    from nacelle.view.viewer import Viewer as Viewer, view as view
    from nacelle.vision.camera import Camera as Camera, Shutter as Shutter
    from nacelle.vision.image.pixel_model import PixelModel as PixelModel
    from nacelle.vision.observation import Observation as Observation, observe as observe
    from nacelle.vision.observer.observer import Observer as Observer
    from nacelle.vision.observer.settings import ObserverSettings as ObserverSettings
    from nacelle.vision.placing import camera_for as camera_for

    # Under other names than in their modules (`nacelle.public`).
    compile, FORMULATIONS, robot_names = compile_function, registration.NAMES, names

__version__ = "0.1.0"


# With a __getattr__, type checkers would accept every misspelt name; of __all__ they read plain texts alone.
if not TYPE_CHECKING:
    __all__ = sorted([*HOMES, "__version__", "data_sheet", "operation_count", "schema"])  # noqa: PLE0605

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

    def plot(self: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"nacelle.report.{home}"), name)(self, *arguments, **options)

    plot.__name__ = f"_{name}"
    plot.__doc__ = (
        f"Draw it; arguments as in `nacelle.report.{home}.{name}`, options of all pictures as in "
        "`nacelle.report.draw.canvas.picture`."
    )
    return plot


def _shown(result: Any) -> str:
    """A robot or a result as a table for notebooks."""
    from nacelle.report.notebook import html_of

    return html_of(result)


# Pictures are registered here: the classes that they show know nothing of them.
register_pictures(**{name: _drawn(*home) for name, home in PICTURES.items()})
register_page(_shown)
