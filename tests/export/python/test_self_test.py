"""The self-test of a package in Python fails where a function is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nacelle
from support.library import library_robot


def test_a_wrong_function_fails(tmp_path: Path) -> None:
    done = nacelle.export(library_robot("prrrp"), "jacobian", out=tmp_path / "p", target="numpy")

    def run() -> subprocess.CompletedProcess[str]:
        (script,) = done.out.rglob("*test*.py")
        return subprocess.run(
            [sys.executable, script.name], cwd=script.parent, capture_output=True, text=True, check=False
        )

    good = run()
    assert good.returncode == 0, good.stdout + good.stderr
    assert "all is well" in good.stdout
    (module,) = done.out.rglob("prrrp.py")
    text = module.read_text(encoding="utf-8")
    assert "np.sqrt(" in text
    module.write_text(text.replace("np.sqrt(", "1.000001 * np.sqrt(", 1), encoding="utf-8")
    bad = run()
    assert bad.returncode == 1
    assert "BAD" in bad.stdout
