from nacelle.simulation.digital_controller import DigitalController as DigitalController
from nacelle.simulation.driven_plant import driven_plant as driven_plant
from nacelle.simulation.drives import (
    Cogging as Cogging,
    Drives as Drives,
    LuGre as LuGre,
    Stiction as Stiction,
    stiction_of as stiction_of,
)
from nacelle.simulation.feedback import feedback as feedback
from nacelle.simulation.integration import Integration as Integration, SuitedSteps as SuitedSteps
from nacelle.simulation.many import Motions as Motions, simulate_many as simulate_many
from nacelle.simulation.plant import Plant as Plant
from nacelle.simulation.protocol import (
    Event as Event,
    EventGroup as EventGroup,
    Feedback as Feedback,
    Labels as Labels,
    PlantLike as PlantLike,
    user_event as user_event,
)
from nacelle.simulation.rigid_plant import rigid_plant as rigid_plant
from nacelle.simulation.sensors import Sensors as Sensors
from nacelle.simulation.simulate import Simulation as Simulation, simulate as simulate
