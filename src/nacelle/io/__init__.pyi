from nacelle.control.scenario.scenario import read_scenario as read_scenario
from nacelle.control.vision.camera_file import read_camera as read_camera
from nacelle.exchange.exported import ExportedRobot as ExportedRobot, export_robot as export_robot
from nacelle.exchange.imported import ImportedRobot as ImportedRobot, import_robot as import_robot
from nacelle.export.c.package import CTarget as CTarget
from nacelle.export.cuda import CudaTarget as CudaTarget
from nacelle.export.fmi.package import FmiTarget as FmiTarget
from nacelle.export.python import CasadiTarget as CasadiTarget, NumpyTarget as NumpyTarget
from nacelle.export.export import Export as Export, export as export
from nacelle.identification.data.read import read_measurement as read_measurement
from nacelle.model.description.schema import shipped_schema
from nacelle.trajectory.waypoints import read_waypoints as read_waypoints

schema = shipped_schema
