"""Matplotlib: loaded for a picture alone, and the same bytes for the same picture."""

import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from nacelle.errors import NacelleError
from nacelle.report.draw import canvas
from nacelle.report.draw.robot import plot_robot
from support.drawings import figure_axes
from support.library import library_robot


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_gives_the_same_bytes(kind, tmp_path):
    saved = []
    for k in range(2):
        ax = plot_robot(library_robot("fivebar"), ax=figure_axes(True))
        saved.append(canvas.save(ax.figure, tmp_path / str(k) / f"a.{kind}").read_bytes())
    assert saved[0] == saved[1]
    assert not any(word in saved[0] for word in (b"Software", b"dc:date", b"CreationDate"))


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    figure = Figure()
    for name in [name for name in sys.modules if name.split(".")[0] in ("matplotlib", "mpl_toolkits")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NacelleError, match=r'pip install "nacelle\[plot\]"'):
        plot_robot(library_robot("fivebar"))
    with pytest.raises(NacelleError, match=r'pip install "nacelle\[plot\]"'):
        canvas.save(figure, "never.png")


def test_matplotlib_is_loaded_only_for_a_picture():
    modules = "nacelle.report.draw.curves, nacelle.report.gallery"
    code = f"import sys, {modules}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
