"""XML read without its dangers, and the numbers in it with the places of their elements.

No document types, no entities, no files outside of the folder. Entities can grow without bound ("billion
laughs") or read other files; neither is needed by a robot, so a document that declares any is refused before
its contents are read. Elements remember where they are. Numbers, directions and inertia that are wrong are
refused with an error at the place of their element.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import numpy as np

from nacelle.errors import DescriptionError, shorten
from nacelle.exchange.graph import Solid
from nacelle.files import unread_reason
from nacelle.model.source.node import file_error
from nacelle.spatial.inertia import inertia_faults, parameters_from_com
from nacelle.spatial.rotation import rotation_quat, rotation_rpy
from nacelle.spatial.scalar import Array

# ---- documents and elements


_MAX_BYTES = 16_000_000
_MAX_DEPTH = 200
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_MAX_ELEMENTS = 200_000
LARGEST_NUMBER = 1e12
"""Numbers beyond this belong to no robot; products of some of them are finite still."""


@dataclass(eq=False)
class Element:
    """An element: its attributes, its children, its own text, and its place in a file."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    column: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self) -> Iterator[Element]:
        """The element and everything in it."""
        yield self
        for child in self.children:
            yield from child.all()

    def children_named(self, tag: str) -> list[Element]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child with a tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def get(self, name: str, default: str = "") -> str:
        """An attribute."""
        return self.attributes.get(name, default)

    def fault(self, message: str, hint: str = "") -> DescriptionError:
        """An error at the place of the element."""
        return file_error(self.file, message, hint, self.line, self.column)

    def require_finite(self, besides: Collection[str] = ()) -> None:
        """Refuse attributes that are empty or have a number that no robot has: not finite, or beyond 1e12.

        Args:
            besides: names of attributes that may be anything.
        """
        for name, text in self.attributes.items():
            if name in besides:
                continue
            if not text.strip():
                raise self.fault(f"{name} of <{self.tag}> is empty")
            for word in text.split():
                if _is_unbounded(word):
                    raise self.fault(f"{name} of <{self.tag}> is {word}: it must be finite and within 1e12")


def _is_unbounded(word: str) -> bool:
    try:
        return not abs(float(word)) <= LARGEST_NUMBER
    except ValueError:
        return False


def read_xml(path: Path) -> Element:
    """Read a file.

    Raises:
        DescriptionError: if it cannot be read, is no XML, or declares a document type.
    """
    return parse_xml(read_bytes(path, "MJCF, URDF or SDF file", _MAX_BYTES), str(path))


def read_bytes(path: Path, what: str, largest: int) -> bytes:
    """The bytes of a file.

    Args:
        path: the file.
        what: it should be, for the message.
        largest: how many bytes it may have.

    Raises:
        DescriptionError: if it cannot be read or has more.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise file_error(str(path), *unread_reason(path, error, what)) from None
    if len(data) > largest:
        raise file_error(str(path), f"the file has {len(data)} bytes, more than a robot needs ({largest})")
    return data


def parse_xml(data: bytes, file: str) -> Element:
    """The root of a document; comments may have two hyphens within, which readers of engines accept."""
    reader = _Reader(file)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        plain = _COMMENT.sub(lambda comment: re.sub(rb"[^\n]", b" ", comment[0]), data)
        if plain != data:
            return parse_xml(plain, file)
        message = expat.ErrorString(error.code)
        raise file_error(file, f"this is no XML: {message}", "", error.lineno, error.offset + 1) from None
    return reader.roots[0]


class _Reader:
    def __init__(self, file: str) -> None:
        self.file, self.count = file, 0
        self.roots: list[Element] = []
        self.open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def fault(self, message: str, hint: str = "") -> DescriptionError:
        position = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        return file_error(self.file, message, hint, *position)

    def doctype(self, *_: object) -> None:
        raise self.fault(
            "a document type is declared, which could define entities without bound", "remove <!DOCTYPE ...>"
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > _MAX_ELEMENTS or len(self.open) >= _MAX_DEPTH:
            raise self.fault(
                f"more than {_MAX_ELEMENTS} elements, or more than {_MAX_DEPTH} within each other"
            )
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        element = Element(tag, dict(attributes), self.file, line, column)
        (self.open[-1].children if self.open else self.roots).append(element)
        self.open.append(element)

    def characters(self, data: str) -> None:
        if data.strip():
            self.open[-1].text += data

    def end(self, tag: str) -> None:
        del tag
        self.open.pop()


def with_includes(root: Element, folder: Path) -> Element:
    """A document with `<include file="..."/>` replaced by the contents of the files.

    Raises:
        DescriptionError: if a file is outside of the folder, is not there, or includes itself.
    """
    _include(root, folder.resolve(), {Path(root.file).resolve()})
    return root


def _include(element: Element, folder: Path, included: set[Path]) -> None:
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            _include(child, folder, included)
            children.append(child)
            continue
        path = (folder / child.get("file")).resolve()
        if not path.is_relative_to(folder):
            raise child.fault(
                f"the included file {child.get('file')!r} is outside of the robot's folder",
                "copy it next to the file that includes it",
            )
        if path in included:
            raise child.fault(f"the file {child.get('file')!r} is included twice")
        if not path.is_file():
            raise child.fault(f"there is no file {child.get('file')!r} to include")
        included.add(path)
        inner = read_xml(path)
        _include(inner, folder, included)
        children += inner.children
    element.children = children


def text_of(root: Element) -> str:
    """The document as text, elements of its own file on their lines, so that messages name them."""
    pieces: list[str] = []
    line = 1

    def write(element: Element) -> None:
        nonlocal line
        if element.file == root.file and element.line > line:
            pieces.append("\n" * (element.line - line))
            line = element.line
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
        pieces.append(f"<{element.tag}{attributes}>")
        for child in element.children:
            write(child)
        pieces.append(f"</{element.tag}>")

    write(root)
    return "".join(pieces)


# ---- numbers, directions and inertia in elements


# Entries that come from a direction of unit length within this part are taken as they are.
_UNIT = 1e-12
MOMENTS = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
"""Names of the moments of inertia in URDF and SDF, and their places in the matrix."""


def finite_numbers(element: Element, text: str, count: int, what: str, most: float = LARGEST_NUMBER) -> Array:
    """So many finite numbers, separated by spaces.

    Args:
        element: where they are written.
        text: they.
        count: how many there must be.
        what: they are, for the message.
        most: what none may be beyond; infinite for limits, which large numbers switch off.

    Raises:
        DescriptionError: at the element, if they are not.
    """
    numbers = text.split()
    try:
        values = np.array([float(word) for word in numbers])
    except ValueError:
        values = np.array([math.nan])
    if len(values) != count or not np.all(np.isfinite(values)):
        amount = "a number" if count == 1 else f"{count} numbers"
        raise element.fault(f"{what} must be {amount}, not {shorten(text.strip())!r}")
    if np.any(np.abs(values) > most):
        raise element.fault(f"{what} is {shorten(text.strip())}: it must be within {most:g}")
    return values


def number_attribute(
    element: Element | None, name: str, default: float, most: float = LARGEST_NUMBER
) -> float:
    """An attribute that is a number, as `finite_numbers`; the default where it or the element is missing."""
    if element is None or name not in element.attributes:
        return default
    return float(finite_numbers(element, element.get(name), 1, f"{name!r} of <{element.tag}>", most)[0])


def vector_attribute(element: Element | None, name: str, default: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """An attribute that is three numbers; the default (3,) where it or the element is missing."""
    if element is None or name not in element.attributes:
        return np.array(default)
    return finite_numbers(element, element.get(name), 3, f"{name!r} of <{element.tag}>")


def unit_direction(element: Element, values: Array) -> Array:
    """The direction (3,) of a vector; one that has unit length already stays as it is."""
    long = float(np.linalg.norm(values))
    if long < 1e-9:
        raise element.fault(f"the axis of <{element.tag}> has no direction")
    return values if abs(long - 1.0) < _UNIT else values / long


def rotation_attributes(element: Element | None) -> Array:
    """Rotation (3, 3) by the attributes rpy (fixed axes, rad) or quat_xyzw; none where both are missing."""
    if element is not None and "quat_xyzw" in element.attributes:
        quat = finite_numbers(element, element.get("quat_xyzw"), 4, f"'quat_xyzw' of <{element.tag}>")
        if np.linalg.norm(quat) < 1e-9:
            raise element.fault("a quaternion of zeros is no rotation")
        return rotation_quat(quat / np.linalg.norm(quat))
    return rotation_rpy(vector_attribute(element, "rpy"))


def symmetric_matrix(moments: Array) -> Array:
    """Inertia (3, 3) from xx, xy, xz, yy, yz, zz, kg m^2."""
    xx, xy, xz, yy, yz, zz = moments
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def require_physical(solid: Solid, fault: Callable[[str, str], DescriptionError]) -> Solid:
    """A solid whose mass and inertia can be those of a body.

    Raises:
        DescriptionError: made by `fault` of a message and a hint, if they cannot.
    """
    faults = inertia_faults(parameters_from_com(solid.mass, solid.com, solid.inertia))
    if faults:
        raise fault(faults[0], "no body has it: mend the numbers in the file")
    return solid


def inertia_attributes(element: Element | None) -> Array:
    """Inertia (3, 3) by the attributes ixx, ixy, ixz, iyy, iyz, izz; zero where they are missing."""
    return symmetric_matrix(np.array([number_attribute(element, name, 0.0) for name in MOMENTS]))
