"""Every command has a subject and examples that could be typed."""

from __future__ import annotations

import shlex

import typer.main

from nacelle.cli.commands import COMMANDS, app
from nacelle.cli.help import SUBJECTS, examples
from support.command import run


def test_every_command_has_one_subject_and_an_example() -> None:
    listed = [name for entries in SUBJECTS.values() for name in entries]
    assert len(set(listed)) == len(listed)
    assert set(COMMANDS) <= set(listed)
    assert all(examples(name) for name in COMMANDS)


def test_examples_name_options_that_exist() -> None:
    group = typer.main.get_command(app)
    for name in COMMANDS:
        options = {option for parameter in group.get_command(None, name).params for option in parameter.opts}
        for line in examples(name):
            first, second, *others = shlex.split(line)
            assert (first, second) == ("nacelle", name)
            assert {word for word in others if word.startswith("--")} <= options, line


def test_help_shows_subjects_and_examples() -> None:
    text = run("--help").output
    assert [text.index(f"{subject}:") for subject in SUBJECTS if f"{subject}:" in text] == sorted(
        text.index(f"{subject}:") for subject in SUBJECTS if f"{subject}:" in text
    )
    assert "Example: nacelle verify delta" in " ".join(run("verify", "--help").output.split())
