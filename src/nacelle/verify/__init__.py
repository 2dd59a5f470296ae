"""Reference engines: the same robot in Pinocchio and MuJoCo, state by state.

The engines are optional, `pip install "nacelle[verify]"`, and are loaded on first use.
"""

from nacelle.verify.comparison import verify
from nacelle.verify.engine import ENGINES, MissingEngineError, VerifyError
from nacelle.verify.report import EngineReport, Quantity, Report, WorstState

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
