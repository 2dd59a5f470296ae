from __future__ import annotations

from pathlib import Path

from support.command import run


def test_a_page_is_written_without_a_server(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("view", "fivebar", "--trajectory", "circle", "--radius", "20mm", "--out", str(page))
    assert "scene-data" in page.read_text(encoding="utf-8")
    assert "exists already" in run("view", "fivebar", "--out", str(page), code=1).stderr


def test_wrong_inputs(tmp_path: Path) -> None:
    out = str(tmp_path / "page.html")
    assert "nosuch" in run("view", "nosuch", "--out", out, code=1).stderr
    assert "write a page" in run("view", "fivebar", "--out", str(tmp_path / "page.png"), code=1).stderr
    table = tmp_path / "run.csv"
    table.write_text("t,x,y,z\n0,0,0,1\n1,0,0,1\n", encoding="utf-8")
    assert "no run of fivebar" in run("view", "fivebar", "--run", str(table), "--out", out, code=1).stderr
    both = run("view", "fivebar", "--run", str(table), "--trajectory", "circle", "--out", out, code=1)
    assert "take one of them" in both.stderr
