"""Frames of an SDF model: links, joints, frames and nested models, each placed in another.

A frame says in which it is placed (`relative_to`; a link in its model, a joint in its child, a frame in what
it is attached to, if it does not) and belongs to the link to which it is attached. Names within a nested
model are looked up there first; from outside they are written as `inner::name`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nacelle.exchange.sdf.texts import pose_of, word
from nacelle.exchange.xml import Element
from nacelle.spatial.pose import Pose, identity

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame: its element, what it is placed in and attached to, in which scope, and its pose there."""

    element: Element
    placed_in: str
    attached_to: str
    scope: str
    pose: Pose


@dataclass(eq=False)
class Frames:
    """All frames of a model by their full names, with links and joints in the order of the file."""

    frames: dict[str, Frame] = field(default_factory=dict)
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, tuple[Element, str]] = field(default_factory=dict)
    placed: dict[str, Pose] = field(default_factory=dict)

    def full(self, name: str, scope: str, element: Element) -> str:
        """The full name of a frame that is named within a scope.

        Raises:
            DescriptionError: at the element, if there is none.
        """
        if name == WORLD:
            return WORLD
        if name == "__model__":
            return _model(scope)
        inner = f"{scope}{name}"
        for candidate in (inner, f"{inner}::__model__"):
            if candidate in self.frames:
                return candidate
        raise element.fault(f"there is no link, joint or frame {name!r}")

    def pose(self, name: str) -> Pose:
        """The pose of a frame in the world.

        Raises:
            DescriptionError: if frames are placed in each other.
        """
        chain: list[str] = []
        while name not in self.placed and name != WORLD:
            frame = self.frames[name]
            if name in chain:
                raise frame.element.fault(f"the frame {name!r} is placed in itself, over others")
            chain.append(name)
            name = self.full(frame.placed_in, frame.scope, frame.element)
        at = identity() if name == WORLD else self.placed[name]
        for own in reversed(chain):
            at = self.placed[own] = at @ self.frames[own].pose
        return at

    def link(self, name: str) -> str:
        """The link to which a frame belongs; the world's name for the world."""
        seen: set[str] = set()
        while name not in self.links and name != WORLD:
            frame = self.frames[name]
            if name in seen:
                raise frame.element.fault(f"the frame {name!r} is attached to itself, over others")
            seen.add(name)
            name = self.full(frame.attached_to, frame.scope, frame.element)
        return name


def frames_of(model: Element) -> Frames:
    """All frames of a model and of those within it.

    Raises:
        DescriptionError: at what has no name or one that is there already, and at what is included.
    """
    found = Frames()
    _add_model(found, model, "", WORLD)
    return found


def _model(scope: str) -> str:
    return f"{scope}__model__"


def _add_model(found: Frames, model: Element, scope: str, outside: str) -> None:
    """Add a model whose contents have names within a scope, placed in a frame outside."""
    own, outer = model.first("pose"), "" if not scope else scope[:-2].rpartition("::")[0]
    outer = f"{outer}::" if outer else ""
    placed_in = _relative(own) or outside
    first = next((link.get("name") for link in model.named("link")), "")
    canonical = (
        model.get("canonical_link") or first or next((m.get("name") for m in model.named("model")), "")
    )
    found.frames[_model(scope)] = Frame(
        model, placed_in, f"{scope[len(outer) :]}{canonical}", outer, pose_of(own)
    )
    for element in model.children:
        if element.tag == "include":
            raise element.fault("<include> is not read", "write the included model in its place")
        if element.tag == "link":
            full = _add(found, element, scope, "__model__", "")
            found.links[full] = element
        elif element.tag == "joint":
            child = element.first("child")
            name = word(element, "child") or (child.get("link") if child is not None else "")
            full = _add(found, element, scope, name, name)
            found.joints[full] = (element, scope)
        elif element.tag == "frame":
            attached = element.get("attached_to") or "__model__"
            _add(found, element, scope, attached, attached)
        elif element.tag == "model":
            if not element.get("name"):
                raise element.fault("a <model> has no name")
            _add_model(found, element, f"{scope}{element.get('name')}::", "__model__")


def _add(found: Frames, element: Element, scope: str, placed_in: str, attached_to: str) -> str:
    name = element.get("name")
    if not name:
        raise element.fault(f"a <{element.tag}> has no name")
    full = f"{scope}{name}"
    if full in found.frames:
        first = found.frames[full].element
        raise element.fault(f"two elements are called {name!r}", f"the first is in line {first.line}")
    pose = element.first("pose")
    frame = Frame(element, _relative(pose) or placed_in, attached_to, scope, pose_of(pose))
    found.frames[full] = frame
    return full


def _relative(pose: Element | None) -> str:
    """In what a pose is given; `frame` is the attribute's name in old versions."""
    return "" if pose is None else pose.get("relative_to") or pose.get("frame")
