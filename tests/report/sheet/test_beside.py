from __future__ import annotations

import multiprocessing

import pytest

from nacelle.report.sheet.beside import made_beside
from nacelle.report.sheet.counts import counts
from nacelle.report.sheet.sheet import make_sections
from nacelle.report.sheet.subject import subject_of
from support.no_engine import refused

NAMES = ("check", "operations", "verification")


@pytest.mark.slow
def test_another_process_counts_the_same() -> None:
    subject = subject_of("prrrp")
    with made_beside(NAMES, "prrrp", verifier=refused) as beside:
        assert beside is not None
        assert not beside.has("check")
        assert beside._answer.poll(300.0)
        assert beside.has("operations")
        made = beside.section("operations")
        assert made is not None
        assert made.content is not None
        assert made.content.data() == counts(subject).data()
        # The next one comes from there or is made here, with the same outcome.
        (last,) = make_sections(subject, NAMES[2:], refused, beside=beside)
        assert last.reason == "prrrp is in no other engine"
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_what_is_begun_here_is_not_begun_there() -> None:
    with made_beside(NAMES, "prrrp", verifier=refused) as beside:
        assert beside is not None
        assert not beside.has("operations")
        (process,) = multiprocessing.active_children()
        process.join()
        # Sent before the other process ended, and still there.
        assert beside.has("verification")
        made = beside.section("verification")
        assert made is not None
        assert made.reason == "prrrp is in no other engine"
        assert list(beside._made) == ["verification"]


@pytest.mark.slow
def test_sections_that_are_made_elsewhere_come_last() -> None:
    subject = subject_of("prrrp")
    with made_beside(("robot", "operations"), "prrrp") as beside:
        assert beside is not None
        assert beside._answer.poll(300.0)
        made = list(make_sections(subject, ("operations", "check"), beside=beside))
        assert made[1] is beside._made["operations"]
    assert [section.name for section in made] == ["check", "operations"]


@pytest.mark.slow
def test_what_a_robot_carries() -> None:
    """The other process has the robot with its payload, and says so in the commands."""
    subject = subject_of("prrrp", payload=("2 kg",))
    with made_beside(("check", "operations"), "prrrp", payload=("2 kg",)) as beside:
        assert beside is not None
        assert beside._answer.poll(300.0)
        made = beside.section("operations")
    assert made is not None
    assert made.content is not None
    assert made.content.markup() == counts(subject).markup()
    assert "--payload" in made.content.markup()


@pytest.mark.slow
def test_a_process_that_ends_without_an_answer() -> None:
    """What is asked for is to be made here."""
    with made_beside(NAMES, "prrrp") as beside:
        assert beside is not None
        for process in multiprocessing.active_children():
            process.terminate()
            process.join()
        assert beside.section("operations") is None
    # A robot that is not there.
    with made_beside(NAMES, "no-such-robot") as beside:
        assert beside is not None
        for process in multiprocessing.active_children():
            process.join()
        assert beside.section("operations") is None


@pytest.mark.parametrize("names", [("robot", "structure"), ("operations",), ("verification", "check")])
def test_nothing_that_is_worth_a_process(names: tuple[str, ...]) -> None:
    with made_beside(names, "prrrp") as beside:
        assert beside is None
