"""Angular dampers between two bodies, as they may be written."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nacelle.model.description.fields import AngularDamping, Reference, Strict


class DamperSpec(Strict):
    """A damper of the relative rotation of two bodies, alike about all axes."""

    between: Annotated[list[Reference], Field(min_length=2, max_length=2)]
    damping: AngularDamping
