"""What is driven where a file does not say: joints with a limit of effort that loops leave independent.

Files often limit the effort of every joint, of those too that loops move. Motors that are only suggested are
kept at joints that are independent of each other, chosen from the base outwards.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from nacelle.exchange.graph import ExchangeReport, Graph, Link
from nacelle.exchange.passes.motion import chosen_motion


def without_dependent_motors(graph: Graph) -> Graph:
    """The graph without motors that are suggested at joints that depend on others.

    Raises:
        DescriptionError: if the loops do not close, or nothing moves.
    """
    suggested = [link for link in (*graph.joints, *graph.closures) if link.motor and not link.motor.sure]
    if not suggested:
        return graph
    kept = {link.name for link in suggested}
    if graph.closures or graph.couplings:
        # What this choice does to the graph is done again later, and reported there.
        kept &= set(chosen_motion(replace(graph, report=ExchangeReport())).joints)
    names = ", ".join(link.name for link in suggested if link.name in kept) or "no joint"
    graph.report.done(f"nothing says what is driven: {names}, by limits of effort")
    return replace(
        graph,
        joints=tuple(_kept(link, kept) for link in graph.joints),
        closures=tuple(_kept(link, kept) for link in graph.closures),
    )


def _kept(link: Link, kept: Collection[str]) -> Link:
    if link.motor is None or link.motor.sure:
        return link
    motor = replace(link.motor, sure=True) if link.name in kept else None
    return replace(link, axes=(replace(link.axes[0], motor=motor),))
