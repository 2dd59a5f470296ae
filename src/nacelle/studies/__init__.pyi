from nacelle.studies.channels import States as States
from nacelle.studies.device import DeviceFolds as DeviceFolds
from nacelle.studies.evaluate import Evaluator as Evaluator
from nacelle.studies.optimise import optimiser as optimiser
from nacelle.studies.result import StudyResult as StudyResult
from nacelle.studies.statistics import (
    Estimate as Estimate,
    SobolIndices as SobolIndices,
    Summary as Summary,
    pareto_front as pareto_front,
    sobol_indices as sobol_indices,
    summarise as summarise,
)
from nacelle.studies.study import Study as Study
from nacelle.studies.table import Column as Column, StudyTable as StudyTable
