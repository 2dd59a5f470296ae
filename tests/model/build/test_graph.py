"""The graph of a robot: legs are the connected components that remain without base and nacelle."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nacelle.model.build.draft import ChainDraft, JointDraft
from nacelle.model.build.graph import MAX_BODIES, BodyGraph, DescribedPart
from nacelle.model.build.placement import Placement
from nacelle.model.description.body import BodySpec
from nacelle.model.description.description import NacelleSpec
from nacelle.model.description.drive import DriveSpec
from nacelle.model.description.leg import LegSpec
from nacelle.model.joint import JointKind
from nacelle.spatial.pose import identity

Joints = Sequence[tuple[str, str, str]]


def chain(bodies: str, joints: Joints, closures: Joints = ()) -> ChainDraft:
    def drafts(written: Joints) -> list[JointDraft]:
        frames = identity(), identity()
        return [
            JointDraft(name, JointKind.REVOLUTE, (a, b), frames, DriveSpec(), (name,))
            for name, a, b in written
        ]

    return ChainDraft(
        {name: (BodySpec(), (name,)) for name in bodies.split()}, drafts(joints), drafts(closures)
    )


def graph(*legs: tuple[str, ChainDraft]) -> tuple[BodyGraph, list[str]]:
    faults: list[str] = []
    parts = [DescribedPart("", ("nacelle",), chain("plate", []), Placement(), None)]
    for name, own in legs:
        parts.append(DescribedPart(name, (name,), own, Placement(), LegSpec(name=name)))
    spec = NacelleSpec(name="plate")
    return BodyGraph(spec, parts, lambda path, message, hint: faults.append(message)), faults


ARM = (("hip", "base", "arm"), ("knee", "arm", "rod"))
END = (("end", "rod", "plate"),)


def test_legs_that_touch_are_one_leg() -> None:
    bridge = (*END, ("bridge", "rod", "b.rod"))
    made, faults = graph(
        ("a", chain("arm rod", ARM, bridge)),
        ("b", chain("arm rod", ARM, END)),
        ("c", chain("arm rod", ARM, END)),
    )
    assert not faults
    assert sorted(map(sorted, made.groups)) == [["a.arm", "a.rod", "b.arm", "b.rod"], ["c.arm", "c.rod"]]
    assert made.leg_names() == ["a-b", "c"]


def test_predecessors_are_placed_first_whatever_the_order_of_writing() -> None:
    made, faults = graph(("a", chain("arm rod", tuple(reversed(ARM)), END)))
    assert not faults
    assert [edge.draft.name for edge in made.tree] == ["hip", "knee"]
    assert [edge.draft.name for edge in made.closing] == ["end"]


def test_a_joint_on_the_nacelle_cuts_the_loop() -> None:
    made, faults = graph(("a", chain("arm rod", (*ARM, *END))))
    assert not faults
    assert [edge.draft.name for edge in made.closing] == ["end"]


@pytest.mark.parametrize(
    ("bodies", "joints", "words"),
    [
        ("arm rod", (("hip", "base", "arm"), ("knee", "amr", "rod")), "no body is called 'amr'"),
        ("arm rod", (*ARM, ("again", "base", "rod")), "placed twice, by 'knee' and by 'again'"),
        ("arm", (("hip", "arm", "arm"),), "joins 'a.arm' to itself"),
        ("arm", (("hip", "arm", "base"),), "the base is nobody's child"),
        ("arm rod", (("hip", "base", "arm"),), "no joint places the body 'a.rod'"),
        ("arm rod", (("one", "rod", "arm"), ("two", "arm", "rod")), "hang on each other but not on the base"),
        (" ".join(f"b{k}" for k in range(MAX_BODIES)), (), f"more than {MAX_BODIES} bodies"),
    ],
)
def test_what_is_no_tree(bodies: str, joints: Joints, words: str) -> None:
    _, faults = graph(("a", chain(bodies, joints)))
    assert any(words in fault for fault in faults), faults
