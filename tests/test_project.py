"""The project: what holds for all of it.

capacity, examples, files, house, notebook, one thread, pictures, progress, public, site, tutorial.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import runpy
import shutil
import subprocess
import sys
import threading
import typing
from collections.abc import Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import nacelle
from nacelle.capacity import available_memory, require_memory
from nacelle.files import write_atomically
from nacelle.identification.excitation import excite as excitation
from nacelle.one_thread import one_blas_thread
from nacelle.progress import report_progress_to, task
from nacelle.results import PLOTS
from support.api_pages import main as write_api_pages
from support.browser import chromium_page, fits, until
from support.house import ROOT, House, bare_tuples, draw, many_arguments, read_house
from support.library import library_robot
from support.sessions import Command, SavedFile, difference, run, save, steps

# ---- What does not fit into memory is refused before it is allocated


def test_half_of_the_memory_is_the_bound() -> None:
    require_memory("points", available_memory() / 2.1 / 8, 8, "take fewer")
    with pytest.raises(
        nacelle.errors.TooLargeError, match=r"points need about .*B of memory.*: take fewer"
    ) as caught:
        require_memory("points", available_memory() / 1.9 / 8, 8, "take fewer")
    assert caught.value.bytes == pytest.approx(available_memory() / 1.9)


@pytest.mark.parametrize("points", [100_000, 10_000_000_000])
def test_workspaces(points: int) -> None:
    robot = nacelle.load("fivebar")
    with pytest.raises(nacelle.errors.TooLargeError, match="take fewer points"):
        nacelle.workspace(robot, {"x": (-0.1, 0.1, points), "y": (0.1, 0.3, points)})
    with pytest.raises(nacelle.errors.TooLargeError, match="rays need about"):
        nacelle.kinematics.workspace_boundary(robot, rays=10**12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"integration": nacelle.simulation.Integration("rk4", step=1e-12)},
            "1e\\+12 steps of 1e-12 s need .* take a longer step, .* s or more",
        ),
        ({"samples": 10**12}, "1e\\+12 samples need .*: take fewer samples"),
        ({"integration": nacelle.simulation.Integration("rk4"), "samples": 10**12}, "1e\\+12 samples need"),
    ],
)
def test_runs(options: dict[str, object], words: str) -> None:
    with pytest.raises(nacelle.errors.TooLargeError, match=words):
        nacelle.simulate(nacelle.load("fivebar"), [0.0, 0.28], until=1.0, **options)


def test_trajectories() -> None:
    robot = nacelle.load("fivebar")
    line = nacelle.Line([0.0, 0.28], [0.0, 0.3], motion=robot.motion, duration=1e9)
    for call in (
        lambda: line.sample(rate=1e6),
        lambda: line.sample(10**13),
        lambda: nacelle.dynamics.size_motors(robot, line, rate=1e6),
    ):
        with pytest.raises(nacelle.errors.TooLargeError, match="samples over 1e\\+09 s need"):
            call()


# ---- Every example runs, and shows what it says

FOLDER = ROOT / "examples"


def _printed(path, capsys):
    """Lines that an example prints, by the word before their first colon."""
    runpy.run_path(str(path), run_name="__main__")
    lines = [line.partition(":") for line in capsys.readouterr().out.splitlines()]
    return {name: words for name, colon, words in lines if colon}


@pytest.mark.slow
def test_identify_fivebar(capsys):
    printed = _printed(FOLDER / "identify_fivebar.py", capsys)
    left = {name: float(printed[name].split("%")[0]) for name in ("described", "identified")}
    assert left["identified"] < 0.5 * left["described"]


@pytest.mark.slow
def test_elastic_prrrp(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["elastic_prrrp.py"])
    printed = _printed(FOLDER / "elastic_prrrp.py", capsys)
    vibration = {name: float(re.search(r"up to ([\d.]+) mm/s", words)[1]) for name, words in printed.items()}
    # 0.9 % of the speed; the paper's beams are too stiff.
    assert 3.0 < vibration["default"] < 10.0
    assert vibration["paper"] != pytest.approx(vibration["default"], rel=0.02)
    for words in printed.values():
        assert float(re.search(r"missing ([\d.e-]+)", words)[1]) < 1e-5


@pytest.mark.slow
def test_look_at_fivebar(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["look_at_fivebar.py"])
    printed = _printed(FOLDER / "look_at_fivebar.py", capsys)
    error = {name: float(printed[name].split("mm")[0]) for name in ("encoders", "vision", "both")}
    assert error["encoders"] > 10.0 * error["vision"]
    assert error["both"] < 1.5 * error["vision"]
    assert all(0.1 < float(word) < 10.0 for word in printed["one image, standard deviations in um"].split())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_controller_in_c(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py"])
    printed = _printed(FOLDER / "controller_in_c/run.py", capsys)
    errors = [float(word) for word in printed["actuators, rms error in um"].split()]
    assert len(errors) == 6
    # A model that is 5 to 20 % off: a tenth of a millimetre, and no drive at its limit.
    assert max(errors) < 200.0
    assert float(printed["largest force in N"]) < 500.0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_ros2(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py"])
    printed = _printed(FOLDER / "ros2/run.py", capsys)
    assert float(printed["plate, largest error in m"]) < 1e-14
    assert printed["poses"].strip() == "1000"
    assert printed["out of reach"].strip() == "the motor stays"


@pytest.mark.slow
def test_computed_force_palida(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["computed_force_palida.py"])
    printed = _printed(FOLDER / "computed_force_palida.py", capsys)
    names = ("sj", "cf-rb", "cf-rb-friction")
    errors = [[float(word) for word in printed[name].split("mm")[0].split()] for name in names]
    for single, rigid, friction in zip(*errors, strict=True):
        assert single > rigid > 4.0 * friction
    # As in docs/computed_force.md.
    tool = [float(printed[name].split("tool")[1].split("mm")[0]) for name in names]
    assert tool == pytest.approx([5.283, 3.753, 0.203], abs=2e-3)
    left = [float(printed[f"prediction {kind}"].split("%")[0]) for kind in ("rigid body", "with friction")]
    assert left[1] < 0.3 * left[0]


def test_every_example_is_run():
    # That of the microcontrollers needs their compiler: tests/embedded runs it.
    here = Path(__file__).read_text(encoding="utf-8") + "embedded/run.py"
    assert all(str(path.relative_to(FOLDER)) in here for path in FOLDER.rglob("*.py"))


@pytest.mark.slow
def test_benchmarks_import_what_is_there() -> None:
    """Imports within functions, too: benchmarks do not run with the tests."""
    missing = []
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("nacelle", "support"):
                try:
                    module = importlib.import_module(str(node.module))
                except ModuleNotFoundError as error:
                    # Another engine may not be installed: make bench installs it.
                    if str(error.name).split(".")[0] in ("nacelle", "support"):
                        missing.append(f"{path.name}: {error.name}")
                    continue
                for name in (alias.name for alias in node.names):
                    if not hasattr(module, name) and not find_spec(f"{module.__name__}.{name}"):
                        missing.append(f"{path.name}: {name}")
    assert not missing


def test_a_file_that_cannot_be_encoded_leaves_the_old_one(tmp_path: Path) -> None:
    """Files are written whole or not at all."""
    file = tmp_path / "a.txt"
    write_atomically(file, "first Ω")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "x" * 100_000 + "\ud800")
    with pytest.raises(FileExistsError):
        write_atomically(file, "second", new=True)
    assert file.read_text(encoding="utf-8") == "first Ω"
    assert list(tmp_path.iterdir()) == [file]
    write_atomically(file, "third")
    write_atomically(tmp_path / "b.txt", "new", new=True)
    assert sorted(path.read_text(encoding="utf-8") for path in tmp_path.iterdir()) == ["new", "third"]


# ---- The house stays one that one can live in: no cycles, no longer chains of imports, small signatures

# The longest chain of imports. It only ever falls.
LONGEST_CHAIN = 37


def test_house() -> None:
    house = read_house(ROOT / "src")
    assert house.cycles == []
    assert house.arrows_up == []
    assert len(house.chain) <= LONGEST_CHAIN, " imports ".join(house.chain)


def test_signatures() -> None:
    assert many_arguments(ROOT / "src") == []
    assert bare_tuples(ROOT / "src") == []


def test_cycles_are_found_and_drawn() -> None:
    lines = dict.fromkeys(("nacelle.model.a", "nacelle.model.b", "nacelle.model.c"), 10)
    ties = {("nacelle.model.a", "nacelle.model.b"), ("nacelle.model.b", "nacelle.model.c")}
    folder = dict.fromkeys(lines, "nacelle.model")
    assert House(lines, {}, folder, frozenset(ties)).cycles == []
    round_ = House(lines, {}, folder, frozenset({*ties, ("nacelle.model.c", "nacelle.model.a")}))
    assert round_.cycles == [sorted(lines)]
    assert draw(round_).count("#c33") == 3


# ---- The example notebook runs and shows tables; the page of pictures lists all results


@pytest.fixture(scope="module")
def notebook() -> Any:
    return json.loads((ROOT / "examples" / "first_steps.ipynb").read_text(encoding="utf-8"))


def test_it_is_a_notebook_without_outputs(notebook: Any) -> None:
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    for cell in notebook["cells"]:
        assert {"cell_type", "id", "metadata", "source"} <= set(cell)
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize(("cells", "tables"), [(4, 2), pytest.param(None, 5, marks=pytest.mark.slow)])
def test_it_runs(notebook: Any, monkeypatch: pytest.MonkeyPatch, cells: int | None, tables: int) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space: dict[str, Any] = {}
    shown = []
    for cell in notebook["cells"][slice(1, cells and cells + 1)]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)
            # Figures of matplotlib have one that may give nothing.
            shown.append((value._repr_html_() if hasattr(value, "_repr_html_") else "") or "")
    assert sum("<table" in text for text in shown) >= tables


def test_every_result_is_on_the_page() -> None:
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    drawn, alone = page.split("These have a table alone:")
    for name in PLOTS:
        assert f"`{name}`" in drawn, name
    for name in nacelle.__all__:
        public = getattr(nacelle, name)
        if inspect.isclass(public) or not inspect.isfunction(public):
            continue
        returned = str(typing.cast(Any, inspect.signature(public).return_annotation))
        kind = returned.removeprefix("list[").removesuffix("]")
        if kind.isidentifier() and kind not in (
            "Array",
            "Any",
            "Path",
            "str",
            "None",
            "Viewer",
            "DataSheet",
            "bool",
        ):
            assert f"`{kind}`" in drawn or f"`{kind}`" in alone, (name, kind)


# ---- Work of many small decompositions runs with one thread of BLAS, and leaves the setting as it was


def _threads() -> set[int]:
    # SciPy's BLAS is counted from when it is loaded on.
    assert scipy.linalg
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_within_and_as_before_afterwards():
    def fails() -> None:
        raise KeyError

    with threadpool_limits(2, user_api="blas"):
        assert one_blas_thread(_threads)() == {1}
        assert _threads() == {2}
        with pytest.raises(KeyError):
            one_blas_thread(fails)()
        assert _threads() == {2}


def test_excitation_has_it(monkeypatch):
    seen = []

    def stopped(*_arguments, **_options):
        seen.append(_threads())
        raise KeyError

    monkeypatch.setattr(excitation, "motion_limits", stopped)
    with threadpool_limits(2, user_api="blas"), pytest.raises(KeyError):
        nacelle.identification.excite(library_robot("fivebar"))
    assert seen == [{1}]


# ---- Long work says what it does: the hook, and what the command line shows


class Heard:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, what: str) -> None:
        self.lines.append(f"begin {what}")

    def part(self, done: float) -> None:
        self.lines.append(f"part {done:g}")

    def end(self) -> None:
        self.lines.append("end")


def test_tasks_reach_the_listener_of_their_block() -> None:
    heard = Heard()
    with task("nobody listens") as report:
        report(0.5)
    with report_progress_to(heard):
        with task("outer"), task("inner") as report:
            report(0.25)
        with pytest.raises(ZeroDivisionError), task("fails"):
            raise ZeroDivisionError
    with task("nobody listens any more"):
        pass
    assert heard.lines == ["begin outer", "begin inner", "part 0.25", "end", "end", "begin fails", "end"]


def test_workspaces_and_runs_report() -> None:
    robot, heard = nacelle.load("fivebar"), Heard()
    with report_progress_to(heard):
        nacelle.workspace(robot, {"x": (-0.05, 0.05, 3), "y": (0.25, 0.3, 3)})
        nacelle.simulate(robot, [0.0, 0.28], until=0.002, integration=nacelle.simulation.Integration("rk4"))
    assert "begin 9 poses of fivebar" in heard.lines
    assert "begin simulating fivebar" in heard.lines
    assert "part 1" in heard.lines


# ---- The built site: links and anchors in the pages as they are served, and what a browser makes of them

# In the page: formulas not typeset, or wrongly; escapes that are shown; what is wider than its place.
_WRONG = """() => {
  const wrong = [];
  for (const place of document.querySelectorAll(".arithmatex"))
    if (!place.querySelector(".katex")) wrong.push("not typeset: " + place.textContent);
  for (const place of document.querySelectorAll(".katex-error")) wrong.push("wrong: " + place.textContent);
  for (const code of document.querySelectorAll("td code"))
    if (code.textContent.includes("\\\\|")) wrong.push("escape shown: " + code.textContent);
  const room = document.documentElement.clientWidth + 1;
  for (const part of document.querySelectorAll("article > *"))
    if (part.getBoundingClientRect().right > room) wrong.push("too wide: " + part.textContent.slice(0, 60));
  for (const picture of document.querySelectorAll("article img"))
    if (!picture.complete || !picture.naturalWidth) wrong.push("no picture: " + picture.src);
  return wrong;
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in a folder of its own as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("api"))
    shutil.copy(ROOT / "mkdocs.yml", folder)
    write_api_pages(folder / "docs" / "api")
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [program, "build"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served, on this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def paths(site: Path) -> list[str]:
    """Addresses of all pages below the site's."""
    return sorted(page.parent.relative_to(site).as_posix() + "/" for page in site.rglob("index.html"))


def test_everything_that_pages_name_is_there(site: Path) -> None:
    wrong, count = [], 0
    texts = {page: (site / page / "index.html").read_text(encoding="utf-8") for page in paths(site)}
    ids = {page: set(re.findall(r'\bid="?([^"\s>]+)', text)) for page, text in texts.items()}
    for page, text in texts.items():
        for name in re.findall(r'(?:href|src)="?([^"\s>]+)', text):
            parts = urlsplit(urljoin(f"http://here/{page.removeprefix('./')}", unescape(name)))
            if parts.hostname != "here":
                assert not re.search(rf'src="?{re.escape(name)}', text), f"{page} loads {name}"
                continue
            count += 1
            path = unquote(parts.path).lstrip("/")
            there = site / path
            if not (there.is_file() or (there / "index.html").is_file()):
                wrong.append(f"{page}: {name}")
            elif (
                parts.fragment and (path or "./") in ids and unquote(parts.fragment) not in ids[path or "./"]
            ):
                wrong.append(f"{page}: {name}: no such anchor")
    assert wrong == []
    assert count > 2000


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_in_a_browser(site: Path, address: str, width: int) -> None:
    """Formulas are typeset, nothing is wider than the window, no error, and no request leaves the machine."""
    formulas = 0
    with chromium_page(width) as page:
        for path in paths(site):
            page.goto(address + path)
            until(page, "!!window.katex")
            found = page.evaluate(_WRONG)
            assert found == [], path
            assert fits(page), path
            formulas += page.evaluate("document.querySelectorAll('.katex').length")
    assert formulas > 300


# ---- The tutorial, followed word by word in an empty folder: its commands run and answer as printed

STEPS = steps((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))

# Commands that need a C compiler and make.
_COMPILED = re.compile(r"(make|cc|\./first)\b")


def follow(folder: Path, left_out: re.Pattern[str] | None) -> int:
    """Do what the tutorial says; how many commands were run."""
    count = 0
    for step in STEPS:
        if isinstance(step, SavedFile):
            save(step, folder)
        elif left_out is None or not left_out.match(step.line):
            answer = run(step.line)
            assert difference(step.printed, answer) == "", f"$ {step.line}\n{answer}"
            count += 1
    return count


@pytest.mark.slow
def test_every_command_answers_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compiler = shutil.which("cc") and shutil.which("make")
    count = follow(tmp_path, None if compiler else _COMPILED)
    assert count == sum(isinstance(step, Command) for step in STEPS) - (0 if compiler else 3)


def test_wrong_numbers_and_missing_lines_are_noticed():
    printed = ("peak 12.39 N m", "...", "agrees")
    assert difference(printed, "peak 12.40 N m\nmore\nagrees\n") == ""
    assert difference(printed, "peak 12.90 N m\nmore\nagrees\n") == "peak 12.39 N m"
    assert difference(printed, "peak 12.39 N m\nmore\n") == "agrees"
    assert difference(("error 2e-16",), "error 7e-17") == ""
    assert difference(("error 2e-16",), "error 7e-3") != ""
    assert difference(("one",), "one\ntwo\n") != ""
