from __future__ import annotations

import multiprocessing

from nacelle.report.sheet.beside import counted_beside
from nacelle.report.sheet.counts import counts
from nacelle.report.sheet.subject import subject_of


def test_another_process_counts_the_same() -> None:
    subject = subject_of("prrrp")
    with counted_beside("prrrp") as counted:
        assert counted._answer is not None
        assert counted(subject).data() == counts(subject).data()
    assert not multiprocessing.active_children()


def test_a_process_that_ends_without_an_answer() -> None:
    """What is asked for is counted here, as it is where nothing was begun."""
    subject = subject_of("prrrp")
    expected = counts(subject).data()
    with counted_beside("prrrp") as counted:
        for process in multiprocessing.active_children():
            process.terminate()
        assert counted(subject).data() == expected
    with counted_beside("prrrp", wanted=False) as counted:
        assert counted(subject).data() == expected
    # A robot that is not there: whoever waits counts, and says why not.
    with counted_beside("no-such-robot") as counted:
        assert counted(subject).data() == expected
