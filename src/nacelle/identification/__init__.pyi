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
from nacelle.identification.excitation.settings import (
    MotionLimits as MotionLimits,
    MotionSearch as MotionSearch,
    MotionShape as MotionShape,
)
from nacelle.identification.identify import Identification as Identification, identify as identify
from nacelle.identification.experiment.simulated import (
    Experiment as Experiment,
    SimulatedExperiment as SimulatedExperiment,
    simulate_experiment as simulate_experiment,
)
from nacelle.identification.validation import Validation as Validation, validate as validate
