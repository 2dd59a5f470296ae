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
from nacelle.simulation.integration import Integration as Integration
from nacelle.simulation.many import Motions as Motions, simulate_many as simulate_many
from nacelle.simulation.plant import RigidPlant as RigidPlant
from nacelle.simulation.protocol import (
    Event as Event,
    EventGroup as EventGroup,
    Feedback as Feedback,
    Plant as Plant,
    user_event as user_event,
)
from nacelle.simulation.sensors import Sensors as Sensors
from nacelle.simulation.simulate import Simulation as Simulation, simulate as simulate
