from nacelle.motion.limits import (
    DriveLimits as DriveLimits,
    Limits as Limits,
    PlatformLimits as PlatformLimits,
    ToolLimits as ToolLimits,
)
from nacelle.motion.path_search import (
    OptimisedPath as OptimisedPath,
    optimise_path as optimise_path,
)
from nacelle.motion.time_optimal import (
    Saturation as Saturation,
    TimeOptimal as TimeOptimal,
    time_optimal as time_optimal,
)
