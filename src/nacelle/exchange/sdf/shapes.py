"""Shapes of SDF links to draw: boxes, cylinders, capsules and spheres."""

from __future__ import annotations

from nacelle.exchange.fields import finite_numbers
from nacelle.exchange.graph import ExchangeReport, Shape
from nacelle.exchange.sdf.texts import pose_of, value
from nacelle.exchange.xml import Element


def shapes_of(link: Element, report: ExchangeReport) -> tuple[Shape, ...]:
    """What is drawn of a link, in its frame."""
    shapes = []
    for visual in link.named("visual"):
        at = pose_of(visual.first("pose"))
        for geometry in visual.named("geometry"):
            for solid in geometry.children:
                size = solid.first("size")
                if solid.tag == "box" and size is not None:
                    x, y, z = finite_numbers(size, size.text, 3, "<size>")
                    shapes.append(Shape("box", (float(x), float(y), float(z)), at))
                elif solid.tag in ("cylinder", "capsule"):
                    shapes.append(
                        Shape("cylinder", (value(solid, "radius", 0.5), value(solid, "length", 1.0)), at)
                    )
                elif solid.tag == "sphere":
                    shapes.append(Shape("sphere", (value(solid, "radius", 1.0),), at))
                elif solid.tag == "mesh":
                    report.lost("meshes left out: bodies are drawn by their joints")
                elif solid.tag != "empty":
                    report.lost(f"shapes <{solid.tag}> left out")
    return tuple(shape for shape in shapes if min(shape.size) > 0.0)
