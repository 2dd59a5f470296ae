"""XML as it is written: elements, numbers that read back to the last bit, and the report at the top."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from nacelle.exchange.graph import ExchangeReport
from nacelle.spatial.scalar import Array


@dataclass(eq=False)
class XmlNode:
    """An element to write: its tag, its attributes, its children or its text."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[XmlNode] = field(default_factory=list)
    text: str = ""

    def add(self, tag: str, text: str = "", **attributes: str) -> XmlNode:
        """A new child."""
        child = XmlNode(tag, {name.rstrip("_"): value for name, value in attributes.items()}, text=text)
        self.children.append(child)
        return child

    def lines(self, indent: int = 0) -> Iterable[str]:
        """Its text, line by line."""
        room = "  " * indent
        head = f"{room}<{self.tag}" + "".join(
            f" {name}={quoteattr(v)}" for name, v in self.attributes.items()
        )
        if self.text:
            yield f"{head}>{self.text}</{self.tag}>"
        elif not self.children:
            yield f"{head}/>"
        else:
            yield f"{head}>"
            for child in self.children:
                yield from child.lines(indent + 1)
            yield f"{room}</{self.tag}>"


def file_text(root: XmlNode, title: str, report: ExchangeReport) -> str:
    """The whole file, with what was done and lost as a comment before the root."""
    notes = [title, ""]
    notes += ["Left out or changed:" if report.losses else "Nothing was left out."]
    notes += [f"- {sentence}" for sentence in report.losses]
    if report.steps:
        notes += ["", "Without a change of the dynamics:", *(f"- {sentence}" for sentence in report.steps)]
    wrapped = [part for note in notes for part in (textwrap.wrap(note, 108, subsequent_indent="  ") or [""])]
    # Two hyphens would end a comment.
    comment = "\n".join(f"  {line}".rstrip() for line in wrapped).replace("--", "- -")
    return "\n".join(['<?xml version="1.0"?>', "<!--", comment, "-->", *root.lines(), ""])


def shortest_number(value: float) -> str:
    """A number, as short as reads back alike."""
    text = repr(float(value) + 0.0)
    return text.removesuffix(".0")


def joined_numbers(values: Sequence[float] | Array) -> str:
    """Numbers with blanks between them."""
    return " ".join(shortest_number(float(value)) for value in values)


def principal_axes(I: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and axes (3, 3), right-handed; none is more than the sum of the others."""
    if not np.any(I - np.diag(np.diag(I))):
        moments, axes = np.diag(I).copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(0.5 * (I + I.T))
    axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    top = int(np.argmax(moments))
    others = float(np.sum(np.delete(moments, top)))
    # By rounding alone: engines compare the sum as it is.
    if moments[top] > others >= (1.0 - 1e-9) * moments[top]:
        moments[top] = others
    return moments, axes
