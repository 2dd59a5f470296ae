"""Every example runs, and shows what it says."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    left = {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith(("described:", "identified:")):
            name, _, words = line.partition(":")
            left[name] = float(words.split("%")[0])
    assert left["identified"] < 0.5 * left["described"]
