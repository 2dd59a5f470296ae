"""The wheel works in a bare environment that holds nothing but its runtime dependencies."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UV = Path(sys.prefix) / "bin" / "uv"
# What a robot's user must not need.
OPTIONAL = ("matplotlib", "pinocchio", "mujoco", "pytest", "cv2", "pyarrow", "viser", "distributed")

pytestmark = pytest.mark.skipif(not UV.is_file(), reason="make setup puts uv into the environment")


def done(*command: str | Path, **settings: object) -> str:
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, check=False, **settings
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel that is made of it."""
    folder = tmp_path_factory.mktemp("dist")
    done(UV, "build", "--offline", "--no-build-isolation", "--python", sys.executable, "-o", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def bare(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel and its runtime dependencies alone."""
    place = tmp_path_factory.mktemp("bare")
    done(sys.executable, "-m", "venv", "--without-pip", place)
    (site,) = place.glob("lib/python*/site-packages")
    for name in re.findall(r"(?m)^([\w.-]+)==", (ROOT / "requirements" / "runtime.txt").read_text()):
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another platform
        tops = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(str(package.locate_file(top)))
    (wheel,) = built.glob("*.whl")
    done(
        UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", place / "bin" / "python", wheel
    )
    return place / "bin"


def test_it_runs_with_runtime_dependencies_alone(bare: Path, tmp_path: Path) -> None:
    wanted = f"import importlib.util as u; print([n for n in {OPTIONAL!r} if u.find_spec(n)])"
    assert done(bare / "python", "-c", wanted).strip() == "[]"
    settings = {"cwd": tmp_path, "env": os.environ | {"NACELLE_CACHE": str(tmp_path / "cache")}}
    assert "delta" in done(bare / "nacelle", "robots", "--names", **settings).split()
    assert "matplotlib missing" in done(bare / "python", "-m", "nacelle", "--version", **settings)


@pytest.mark.slow
def test_models_and_packages(bare: Path, tmp_path: Path) -> None:
    settings = {"cwd": tmp_path, "env": os.environ | {"NACELLE_CACHE": str(tmp_path / "cache")}}

    def nacelle(*words: str) -> str:
        return done(bare / "nacelle", *words, **settings)

    assert json.loads(nacelle("ik", "fivebar", "--json"))["ok"] is True
    assert json.loads(nacelle("ops", "fivebar", "--json"))["robot"] == "fivebar"
    nacelle("new", "planar", "--leg", "3-PRR")
    nacelle("dynamics", "planar.yaml", "--rate", "50", "--trajectory", "rest", "--duration", "0.2")
    nacelle("export", "planar.yaml", "--target", "c", "--out", "package")
    assert (tmp_path / "package" / "README.md").is_file()


def test_what_is_in_it(built: Path) -> None:
    """Every file of the package that is not Python's is in the wheel; the licence is in both."""
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    listed = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "nacelle"
    data = [p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert {f"nacelle/{path.relative_to(package).as_posix()}" for path in data} <= listed
    assert any(name.endswith("licenses/LICENSE") for name in listed)
    with tarfile.open(source) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"} <= files
    assert {
        f"src/{name}" for name in listed if name.startswith("nacelle/") and name.endswith(".yaml")
    } <= files


def test_the_recipe_of_conda_forge(built: Path) -> None:
    """Its version, source and dependencies are those of the source distribution."""
    from ruamel.yaml import YAML

    text = done(
        sys.executable, ROOT / "packaging" / "conda.py", "https://example.org/a.tar.gz", "--dist", built
    )
    recipe = YAML(typ="safe").load(text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (archive,) = built.glob("*.tar.gz")
    assert recipe["context"]["version"] == project["version"]
    assert recipe["package"]["name"] == project["name"]
    assert recipe["source"]["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    names = [re.match(r"[\w.-]+", requirement).group() for requirement in project["dependencies"]]
    assert [requirement.split()[0] for requirement in recipe["requirements"]["run"]] == ["python", *names]


@pytest.mark.slow
def test_robots_for_robot_descriptions(tmp_path: Path) -> None:
    """Other engines load each file; modules and registry name what is there."""
    for engine in ("mujoco", "pinocchio"):
        pytest.importorskip(engine, reason="robots are loaded by MuJoCo and Pinocchio")
    out = tmp_path / "descriptions"
    done(sys.executable, ROOT / "packaging" / "descriptions.py", out)
    entries = (out / "robot_descriptions" / "entries.txt").read_text()
    modules = sorted((out / "robot_descriptions").glob("*.py"))
    assert len(modules) == 10
    for module in modules:
        text = module.read_text()
        assert f'"{module.stem}": Description(' in entries
        (folder,) = re.findall(r'PACKAGE_PATH: str = _path.join\(REPOSITORY_PATH, "(\w+)"\)', text)
        ((kind, name),) = re.findall(r'_path.join\(PACKAGE_PATH, "(\w+)", "([\w.]+)"\)', text)
        assert (out / folder / kind / name).is_file()
        assert {"README.md", "LICENSE"} <= {path.name for path in (out / folder).iterdir()}


def test_no_text_recommends_the_package_of_somebody_else() -> None:
    """`nacelle` on the package index is a web framework: ours is `nacelle-robotics`, its extras likewise."""
    foreign = re.compile(
        r"""pip3? install [^\n#`,;]*?(?<![\w./-])nacelle(?![\w-])|(?<![\w-])nacelle\\?\[\w"""
    )
    for text in ("pip install nacelle", "pip install -U 'nacelle[view]'", "the extra nacelle[logs]"):
        assert foreign.search(text)
    for text in ("pip install 'nacelle-robotics[view]'", "pip install ./nacelle"):
        assert not foreign.search(text)
    folders = ("src", "docs", "tests", "benchmarks", "examples", "packaging", "requirements")
    files = [*ROOT.iterdir(), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    kinds = {".py", ".md", ".toml", ".yaml", ".yml", ".cff", ".ipynb", ".txt", ".in", ".html", ".js", ""}
    texts = [path for path in files if path.is_file() and path.suffix in kinds and path != Path(__file__)]
    assert len(texts) > 500
    for path in texts:
        match = foreign.search(path.read_text(encoding="utf-8", errors="ignore"))
        assert match is None, f"{path.relative_to(ROOT)}: {match.group()}"


def test_the_citation_is_of_this_version() -> None:
    """Keys that CFF 1.2.0 demands, and the numbers of pyproject.toml."""
    from ruamel.yaml import YAML

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["cff-version"] == "1.2.0"
    for key in ("version", "license", "keywords"):
        assert cited[key] == project[key]
    assert [author["name"] for author in cited["authors"]] == [
        author["name"] for author in project["authors"]
    ]
