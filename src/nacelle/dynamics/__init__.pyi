from nacelle.dynamics.base_parameters.base_parameters import (
    BaseParameters as BaseParameters,
    base_parameters as base_parameters,
)
from nacelle.dynamics.derivatives.derivatives import (
    DynamicsDerivatives as DynamicsDerivatives,
    dynamics_derivatives as dynamics_derivatives,
)
from nacelle.dynamics.derivatives.linear import LinearModel as LinearModel, linearise as linearise
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
    GravityBalance as GravityBalance,
    balance_gravity as balance_gravity,
)
from nacelle.dynamics.inverse import InverseDynamics as InverseDynamics, inverse_dynamics as inverse_dynamics
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
from nacelle.model.linear_parameters import (
    LinearParameters as LinearParameters,
    linear_parameters as linear_parameters,
    with_linear_parameters as with_linear_parameters,
)
from nacelle.model.payload import with_payloads as with_payloads, with_payload as with_payload
from nacelle.spatial.physics import physics as physics
