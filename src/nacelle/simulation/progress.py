"""Showing how far a run has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nacelle.progress import task

Progress = bool | Callable[[float], None]


@contextmanager
def shown(progress: Progress, name: str) -> Iterator[Callable[[float], None]]:
    """Give a function to be told the part that is done, 0 to 1.

    Args:
        progress: whether to show a bar; or a function that is told instead.
        name: beside the bar.
    """
    if callable(progress):
        yield progress
        return
    if not progress:
        with task(f"simulating {name}") as report:
            yield report
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(name, total=1.0)
        yield lambda part: bar.update(number, completed=part)
