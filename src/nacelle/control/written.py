"""What is written in YAML, checked: a file, a text or a mapping to a model of its entries, with places."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from nacelle.errors import DescriptionError, Problem
from nacelle.files import why_unread
from nacelle.model.description.fields import Strict, message_and_hint
from nacelle.model.source.node import Source
from nacelle.model.source.python import node_from_python
from nacelle.model.source.yaml import read_yaml

Spec = TypeVar("Spec", bound=Strict)


def read_written(
    kind: type[Spec],
    source: str | Path | Mapping[str, Any],
    built_in: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Spec, Source]:
    """Read and check what is written.

    Args:
        kind: the model of its entries.
        source: a YAML file, its text if that has more than one line, a mapping of the same shape, or the name
            of one that comes with the package.
        built_in: those that come with the package, by name.

    Raises:
        DescriptionError: with all problems, each with file, line and column.
    """
    tree = _source(source, built_in or {})
    try:
        return kind.model_validate(tree.root.plain(), context={"units": {"*": "SI"}}), tree
    except ValidationError as errors:
        raise DescriptionError(
            sorted(
                tree.problem(error["loc"], *message_and_hint(error))
                for error in errors.errors(include_url=False)
            )
        ) from None


def _source(source: str | Path | Mapping[str, Any], built_in: Mapping[str, Mapping[str, Any]]) -> Source:
    if isinstance(source, Mapping):
        return Source("<python>", node_from_python(dict(source)))
    if isinstance(source, str) and "\n" in source:
        return read_yaml(source, "<text>")
    if str(source) in built_in:
        return Source(f"<{source}>", node_from_python(built_in[str(source)]))
    try:
        return read_yaml(Path(source).read_bytes(), str(source))
    except OSError as fault:
        message, hint = why_unread(source, fault, "YAML file")
        if built_in and isinstance(fault, FileNotFoundError):
            hint = f"{hint}, or one of {', '.join(built_in)}"
        raise DescriptionError([Problem(str(source), 0, 0, "", message, hint)]) from None
