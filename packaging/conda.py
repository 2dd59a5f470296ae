"""Write the recipe of conda-forge for the source distribution in dist/.

`make dist`, then

    python packaging/conda.py ADDRESS > recipe.yaml

ADDRESS is where the distribution can be downloaded. Name, version, licence, dependencies and the range of
Python are those of its own metadata: nothing is repeated here.
"""

import argparse
import email.parser
import hashlib
import re
import tarfile
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What conda-forge calls otherwise.
NAMES = {"ruamel-yaml": "ruamel.yaml", "uv_build": "uv-build"}

RECIPE = """\
schema_version: 1

context:
  version: "{version}"
  python_min: "{python}"

package:
  name: {name}
  version: ${{{{ version }}}}

source:
  url: {address}
  sha256: {sha256}

build:
  number: 0
  noarch: python
  script: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
      - nacelle = nacelle.cli:main

requirements:
  host:
    - python ${{{{ python_min }}}}.*
    - pip
    - {backend}
  run:
    - python >=${{{{ python_min }}}}
{run}

tests:
  - python:
      imports:
        - nacelle
        - nacelle.control
        - nacelle.identification
      pip_check: true
      python_version: ${{{{ python_min }}}}.*
  - script:
      - nacelle --version
      - nacelle ik delta
      - nacelle dynamics fivebar --trajectory rest --duration 0.1

about:
  summary: {summary}
  license: {licence}
  license_file: LICENSE
"""


def metadata(archive: Path) -> tuple[Message, str]:
    """The metadata of a source distribution, and its build backend with versions."""
    with tarfile.open(archive) as files:
        names = files.getnames()

        def text(name: str) -> str:
            path = next(path for path in names if path.count("/") == 1 and path.endswith(f"/{name}"))
            return files.extractfile(path).read().decode()

        backend = re.search(r'requires = \["([^"]+)"\]', text("pyproject.toml")).group(1)
        return email.parser.Parser().parsestr(text("PKG-INFO")), backend


def spec(requirement: str) -> str:
    """A requirement as conda writes it: a name, a space, versions; markers of platforms are left out.

    conda-forge has LLVM's bindings on every platform, also where the package index has no wheels.
    """
    name, versions = re.fullmatch(r"([\w.-]+)\s*([^;]*?)\s*(?:;.*)?", requirement).groups()
    return f"{NAMES.get(name, name)} {versions.replace(' ', '')}".strip()


def recipe(archive: Path, address: str) -> str:
    """The recipe for a source distribution that is at an address."""
    about, backend = metadata(archive)
    required = [entry for entry in about.get_all("Requires-Dist") if "extra ==" not in entry]
    return RECIPE.format(
        name=about["Name"],
        version=about["Version"],
        python=about["Requires-Python"].removeprefix(">="),
        address=address,
        sha256=hashlib.sha256(archive.read_bytes()).hexdigest(),
        backend=spec(backend),
        run="\n".join(f"    - {spec(entry)}" for entry in required),
        summary=about["Summary"],
        licence=about["License-Expression"],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", help="where the source distribution can be downloaded")
    parser.add_argument(
        "--dist", type=Path, default=ROOT / "dist", help="folder with one source distribution"
    )
    options = parser.parse_args()
    (sdist,) = options.dist.glob("*.tar.gz")
    print(recipe(sdist, options.address), end="")
