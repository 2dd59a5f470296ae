"""The example notebook runs and shows tables; the page of pictures lists all results."""

from __future__ import annotations

import ast
import inspect
import json
import typing
from pathlib import Path
from typing import Any

import pytest

import nacelle
from nacelle.pictures import _DRAWN

ROOT = Path(__file__).parent.parent


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
    for name in _DRAWN:
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
