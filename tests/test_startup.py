"""What is imported when: names and commands load what they need, and nothing else."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import nacelle
from nacelle.cli.commands import COMMANDS, app, command_registry

HEAVY = {"numpy", "scipy", "pydantic", "ruamel", "llvmlite", "typer", "click", "rich", "matplotlib"}


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(code: str) -> set[str]:
    """Modules that are there after some code has run in a new process."""
    last = run(f"{code}\nimport sys, json\nprint()\nprint(json.dumps(sorted(sys.modules)))")
    return set(json.loads(last.splitlines()[-1]))


def command(*arguments: str) -> str:
    """Code that runs a command to its end."""
    return (
        f"import sys\nsys.argv = ['nacelle', *{arguments!r}]\nfrom nacelle.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )


@pytest.mark.costly
@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("import nacelle", HEAVY),
        ("import nacelle; nacelle.NacelleError, nacelle.robot_names()", HEAVY),
        ("import nacelle; nacelle.Robot; nacelle.Flag", HEAVY - {"numpy"}),
        ("import nacelle; nacelle.load('delta')", HEAVY - {"numpy", "pydantic", "ruamel"}),
        ("from nacelle import *", {"scipy", "matplotlib", "llvmlite", "typer"}),
        (command("--help"), HEAVY - {"typer", "click"}),
        # typer itself reads the options of a command with pydantic.
        (command("--version"), HEAVY - {"typer", "click", "pydantic"}),
        (command("robots", "--names"), HEAVY - {"typer", "click", "pydantic"}),
        (command("show", "delta"), {"scipy", "llvmlite", "matplotlib"}),
        (command("ik", "delta"), {"scipy", "matplotlib"}),
        (command("dynamics", "fivebar", "--rate", "50"), {"scipy", "matplotlib"}),
    ],
)
def test_what_is_not_imported(code: str, without: set[str]) -> None:
    tops = {name.partition(".")[0] for name in imported(code)}
    assert not tops & without


def test_help_imports_no_command() -> None:
    """The modules that hold the commands are left alone, those that all commands share are not."""
    modules = {name for name in imported(command("--help")) if name.startswith("nacelle.cli.")}
    shared = ("common", "commands", "complete", "progress")
    assert modules == {f"nacelle.cli.{name}" for name in shared}


@pytest.mark.slow
def test_the_list_of_robots_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path / "cache"))
    first, second = imported(command("robots")), imported(command("robots"))
    assert {"nacelle.model.read", "numpy"} <= first
    assert not {"nacelle.model.read", "numpy"} & second
    kept = run(command("robots", "--json"))
    monkeypatch.setenv("NACELLE_CACHE", "/dev/null")
    assert json.loads(kept) == json.loads(run(command("robots", "--json")))


# ---- the public names


@pytest.mark.slow
def test_all_names_are_there() -> None:
    inside_star: dict[str, object] = {}
    exec("from nacelle import *", inside_star)
    assert set(nacelle.__all__) <= set(inside_star)
    assert "nacelle.inverse_dynamics(robot" in run("import nacelle; help(nacelle)")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compile", "export", "model", "verify"])
def test_a_function_is_not_replaced_by_the_module_of_its_name(name: str) -> None:
    """Whatever is imported first, and by whatever name."""
    other = "from nacelle.report.operations import operation_count\nimport nacelle.simulation.simulate"
    for order in (
        f"import nacelle.{name}, nacelle",
        f"import nacelle\nfrom nacelle import {name}",
        f"import nacelle\nnacelle.{name}\nimport nacelle.{name}",
        f"{other}\nimport nacelle",
    ):
        assert run(f"{order}\nprint(callable(nacelle.{name}))") == "True\n"


def test_modules_of_the_package_are_attributes() -> None:
    assert run("import nacelle\nprint(nacelle.robots.names()[0], nacelle.kinematics.__name__)").split() == [
        nacelle.robots.names()[0],
        "nacelle.kinematics",
    ]


def test_misspelt_names() -> None:
    with pytest.raises(AttributeError, match="module 'nacelle' has no attribute 'invers_kinematics'"):
        nacelle.invers_kinematics  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from nacelle import nothing", {})
    assert not hasattr(nacelle, "__wrapped__")


def test_pickles() -> None:
    """Other processes load what they need on their own."""
    robot = nacelle.load("fivebar")
    for thing in (robot, nacelle.inverse_kinematics, nacelle.Robot, nacelle.compile):
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing
    file = pickle.dumps(robot)
    code = f"import pickle\nprint(pickle.loads({file!r}).hash)"
    assert run(code) == f"{robot.hash}\n"


def test_robots_draw_without_being_asked_for_by_the_public_name() -> None:
    code = "from nacelle.library import load\nprint(load('fivebar').plot.__name__)"
    assert run(code) == "_plot_robot\n"


@pytest.mark.slow
def test_types_of_users(tmp_path: Path) -> None:
    """mypy knows the types of lazily imported names, and names that do not exist."""
    file = tmp_path / "user.py"
    file.write_text(
        "import nacelle\nfrom nacelle import Robot, load\n"
        "robot: Robot = load('delta')\n"
        "reveal_type(nacelle.inverse_kinematics(robot, [0, 0, -0.5]))\n"
        "nacelle.no_such_name\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    reported = [line for line in done.stdout.splitlines() if line.startswith(str(file))]
    assert len(reported) == 2, done.stdout
    assert "nacelle.kinematics.solve.inverse.InverseKinematics" in reported[0]
    assert 'Module has no attribute "no_such_name"' in reported[1]


# ---- the commands


def test_the_table_of_commands_is_true() -> None:
    """Each command is in the module that the table names, and the table has its line of help."""
    for name, entry in COMMANDS.items():
        importlib.import_module(f"nacelle.cli.{entry.module}")
        info = next(info for info in command_registry.registered_commands if info.name == name)
        assert info.callback is not None
        assert info.callback.__module__ == f"nacelle.cli.{entry.module}"
        assert " ".join(inspect.getdoc(info.callback).split("\n\n")[0].split()) == entry.line


def test_every_command_is_in_the_table() -> None:
    folder = Path(inspect.getfile(importlib.import_module("nacelle.cli"))).parent
    for file in folder.rglob("*.py"):
        if file.stem not in ("__init__", "__main__"):
            importlib.import_module(
                ".".join(("nacelle.cli", *file.relative_to(folder).with_suffix("").parts))
            )
    assert {info.name for info in command_registry.registered_commands} == set(COMMANDS)
    # Those of the application itself typer builds before every line.
    assert app.registered_commands == []


def test_without_a_command_the_help_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nacelle.cli"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stdout.startswith("Usage:")
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout
