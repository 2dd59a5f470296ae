"""The README and the pages: their Python runs, their robots load, their tables are true."""

import re
from pathlib import Path

import pytest

import nacelle

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "api" not in page.parts),
]


def blocks(language):
    return [
        pytest.param(match[1], id=f"{page.name}-{k}")
        for page in PAGES
        for k, match in enumerate(
            re.finditer(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "<page>", "exec"), {"__name__": "__page__"})


@pytest.mark.parametrize("text", [p for p in blocks("yaml") if p.values[0].startswith("format:")])
def test_robots_on_pages_load(text):
    robot = nacelle.loads(text)
    assert nacelle.loads(robot.to_yaml()) == robot


def test_there_are_blocks_to_test():
    assert len(list(blocks("python"))) >= 5
    assert len([p for p in blocks("yaml") if p.values[0].startswith("format:")]) >= 2


@pytest.mark.slow
def test_the_table_of_robots_is_true():
    page = (ROOT / "docs" / "robots.md").read_text(encoding="utf-8").replace("\\", "")
    for name in nacelle.robot_names():
        check = nacelle.check(name)
        robot, m = check.robot, check.mobility
        types = [nacelle.kinematics.leg_type(robot, leg) for leg in robot.legs]
        row = (
            f"| `{name}` | {len(robot.legs)} | {types[0].name} | {nacelle.kinematics.robot_elements(types)} "
            f"| {len(robot.bodies) - 1} | {m.counted} | {m.true} | {m.platform} | {m.internal_count} "
            f"| {m.overconstrained} |"
        )
        assert row in page


def test_the_mistakes_in_the_readme_are_reported_as_printed(tmp_path):
    text = nacelle.robots.text("delta")
    lines = text.splitlines()
    wrong = (
        text.replace("  mass: 0.6 kg", "  masss: 0.6 kg")
        .replace("com: 90 0 0 mm", "com: 90 0 mm")
        .replace("guess: 25 deg", "guess: 25")
    )
    file = tmp_path / "my-delta.yaml"
    file.write_text(wrong, encoding="utf-8")
    with pytest.raises(nacelle.DescriptionError) as caught:
        nacelle.load(file)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    printed = re.findall(r"my-delta\.yaml:(\d+):(\d+): (\S+): (.*?) \((.*?)(?:, \.\.\.)?\)\n", readme)
    assert len(printed) == 3
    found = {(p.line, p.column, p.path): p for p in caught.value.problems}
    for line, column, path, message, hint in printed:
        problem = found[int(line), int(column), path]
        assert problem.message == message
        assert problem.hint.startswith(hint)
    assert len(lines) > 50


def test_files_that_the_contributors_page_names_exist():
    """Where a name follows one, as in `inverse.py`, `inverse_dynamics`, the file defines that name."""
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    files = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    named, pairs = set(re.findall(r"`([\w/]+\.py)`", text)), re.findall(r"`([\w/]+\.py)`, `(\w+)`", text)
    assert len(named) > 40
    assert len(pairs) >= 5
    assert sorted(name for name in named if not any(f.as_posix().endswith(f"/{name}") for f in files)) == []
    for file, name in pairs:
        sources = [path.read_text(encoding="utf-8") for path in files if path.as_posix().endswith(f"/{file}")]
        assert any(re.search(rf"^(def|class) {name}\b", text, re.M) for text in sources), (name, file)
