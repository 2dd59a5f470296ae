"""Springs between two bodies, as they may be written."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nacelle.model.description.fields import Damping, Length, Lengths3, Reference, Stiffness, Strict


class LineSpringSpec(Strict):
    """A spring between points of two bodies, with a damper beside it; it acts along the line between them.

    `length` is its free length.
    """

    between: Annotated[list[Reference], Field(min_length=2, max_length=2)]
    at: Annotated[list[Lengths3], Field(min_length=2, max_length=2)] = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]
    stiffness: Stiffness
    length: Length
    damping: Damping = 0.0
