"""Other engines as witnesses: the same robot in Pinocchio and MuJoCo, state by state.

The engines are optional, `pip install "nacelle[verify]"`, and are loaded when they are asked for.
"""

from nacelle.verify.engine import ENGINES, MissingEngineError, VerifyError
from nacelle.verify.report import EngineReport, Quantity, Report, WorstState
from nacelle.verify.witness import verify

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
