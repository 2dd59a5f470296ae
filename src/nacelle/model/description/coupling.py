"""Couplings between joints, as they may be written: gears, belts, mimic joints, differentials."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from nacelle.model.description.fields import Raw, Reference, Strict, fault


class CouplingSpec(Strict):
    """A joint that follows others: q_joint = sum of ratio q_follows + offset.

    `follows` names one joint, with its `ratio`, or is a mapping of joints to their ratios. Angles are in rad:
    a prismatic joint that follows a revolute one has a ratio in m/rad, or mm/rev.
    """

    joint: Reference
    follows: Reference | Annotated[dict[Reference, Raw], Field(min_length=1)]
    ratio: Raw = None
    offset: Raw = 0.0

    @model_validator(mode="after")
    def _check(self) -> CouplingSpec:
        if isinstance(self.follows, dict) and self.ratio is not None:
            raise fault(
                "ratio is given beside a mapping of ratios", "write follows: {left: 0.5, right: 0.5} alone"
            )
        if self.joint in self.ratios():
            raise fault(f"the joint {self.joint!r} follows itself", "name the other joint under follows")
        return self

    def ratios(self) -> dict[str, Any]:
        """The joints that are followed, and their ratios as written."""
        if isinstance(self.follows, dict):
            return dict(self.follows)
        return {self.follows: 1.0 if self.ratio is None else self.ratio}
