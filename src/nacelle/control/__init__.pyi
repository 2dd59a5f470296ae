from nacelle.control.compare import Comparison as Comparison, compare as compare
from nacelle.control.controller import Controller as Controller
from nacelle.control.loop.closed_loop import LoopOptions as LoopOptions, closed_loop as closed_loop
from nacelle.control.loop.run import ControlRun as ControlRun
from nacelle.control.named import controller as controller
from nacelle.control.scenario.scenario import Scenario as Scenario, read_scenario as read_scenario
from nacelle.control.vision.camera_file import read_camera as read_camera
from nacelle.control.vision.comparison import (
    VisualFeedbackBench as VisualFeedbackBench,
    VisualFeedbackComparison as VisualFeedbackComparison,
    compare_visual_feedback as compare_visual_feedback,
)
