"""Places in URDF: the element `origin`, and where links with their names are."""

from __future__ import annotations

import numpy as np

from nacelle.exchange.fields import rotation_of, unit_direction, vector_attribute
from nacelle.exchange.xml import Element
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array


def pose_of(element: Element | None) -> Pose:
    """The pose of an element with the attributes xyz and rpy (or quat_xyzw); none where it is missing."""
    return Pose(rotation_of(element), vector_attribute(element, "xyz", (0.0, 0.0, 0.0)))


def axis_of(element: Element | None) -> Array:
    """The direction of an element with the attribute xyz; x where it is missing."""
    if element is None or "xyz" not in element.attributes:
        return np.array([1.0, 0.0, 0.0])
    return unit_direction(element, vector_attribute(element, "xyz", (1.0, 0.0, 0.0)))


class Links:
    """Names of links in the file, and of their bodies in the graph."""

    def __init__(self, bodies: dict[str, str]) -> None:
        """Take the names of bodies by the names of links."""
        self.bodies = bodies

    def body(self, element: Element | None, owner: Element, attribute: str = "link") -> str:
        """The body that an element names.

        Raises:
            DescriptionError: if the element or its attribute is missing, or no link has the name.
        """
        if element is None:
            raise owner.fault(f"<{owner.tag}> {owner.get('name')!r} does not say which links it joins")
        name = element.get(attribute)
        if name not in self.bodies:
            raise element.fault(f"there is no link {name!r}", _near(name, self.bodies))
        return self.bodies[name]


def _near(name: str, names: dict[str, str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, 1)
    return f"did you mean {close[0]!r}?" if close else ""
