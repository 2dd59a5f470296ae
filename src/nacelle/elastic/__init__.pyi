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
from nacelle.elastic.plant import elastic_plant as elastic_plant
from nacelle.elastic.shaping import (
    ResidualVibration as ResidualVibration,
    ShapedMotion as ShapedMotion,
    residual_vibration as residual_vibration,
    shape_motion as shape_motion,
)
