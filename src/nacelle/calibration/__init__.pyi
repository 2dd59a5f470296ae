from nacelle.calibration.calibration import Calibration as Calibration, calibrate as calibrate
from nacelle.calibration.camera_edges import (
    Edges as Edges,
    blank_edges as blank_edges,
    edge_devices as edge_devices,
)
from nacelle.calibration.campaign_file import read_campaign as read_campaign
from nacelle.calibration.devices import (
    Distance as Distance,
    Pairs as Pairs,
    Places as Places,
    Target as Target,
    Tool as Tool,
    Tracker as Tracker,
)
from nacelle.calibration.fit import Campaign as Campaign
from nacelle.calibration.lines_of_sight import View as View
from nacelle.calibration.parameters import (
    Encoder as Encoder,
    Parameter as Parameter,
    choose_parameters as choose_parameters,
    encoders_of as encoders_of,
    known_parameters as known_parameters,
)
from nacelle.calibration.poses import (
    Plan as Plan,
    default_parameters as default_parameters,
    drawn_poses as drawn_poses,
    plan_poses as plan_poses,
)
from nacelle.calibration.simulated import (
    SimulatedCalibrations as SimulatedCalibrations,
    simulate_calibrations as simulate_calibrations,
    simulate_campaign as simulate_campaign,
)
from nacelle.calibration.tolerances import (
    PoseErrorBounds as PoseErrorBounds,
    bound_pose_errors as bound_pose_errors,
)
