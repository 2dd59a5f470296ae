"""Reference engines: the same robot in Pinocchio and MuJoCo, state by state.

The engines are optional, `pip install 'nacelle-robotics[verify]'`, and are loaded on first use.
"""

from nacelle.verify.comparison import EngineReport, Quantity, Report, WorstState, verify
from nacelle.verify.engine import ENGINES, MissingEngineError, VerifyError

__all__ = [
    "ENGINES",
    "EngineReport",
    "MissingEngineError",
    "Quantity",
    "Report",
    "VerifyError",
    "WorstState",
    "verify",
]
