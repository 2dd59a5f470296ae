"""The JSON schema of descriptions, for editors.

`python -m nacelle.model.description.schema` writes it anew.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import Any

from pydantic import Field

from nacelle.model.description.body import BodySpec
from nacelle.model.description.description import Description, ElementSpec, LegSpec
from nacelle.model.description.fields import Name, RawList, Strict
from nacelle.model.description.frame import PlacementSpec
from nacelle.model.description.joint import (
    CouplingSpec,
    DamperSpec,
    EndSpec,
    JointSpec,
    LineSpringSpec,
    TorsionSpringSpec,
)
from nacelle.model.description.version import OLDER_KEY, PLATFORM_KEY

_FILE = "schema.json"


class TemplateSpec(Strict):
    """A leg with parameters; joints may add to the rows of a table."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    title: str | None = None
    bodies: dict[Name, BodySpec] = Field(default_factory=dict)
    joints: dict[Name, JointSpec | dict[str, Any]] = Field(default_factory=dict)
    closures: dict[Name, JointSpec] = Field(default_factory=dict)
    couplings: dict[Name, CouplingSpec] = Field(default_factory=dict)
    springs: dict[Name, LineSpringSpec] = Field(default_factory=dict)
    dampers: dict[Name, DamperSpec] = Field(default_factory=dict)
    torsion_springs: dict[Name, TorsionSpringSpec] = Field(default_factory=dict)
    table: str | list[Any] | None = None
    elements: list[ElementSpec] = Field(default_factory=list)
    end: EndSpec | None = None
    placement: PlacementSpec | None = None
    branch: int | None = None
    guess: dict[Name, RawList] = Field(default_factory=dict)


class OverrideSpec(Strict):
    """What one leg has otherwise than its template: mappings are merged, null takes a key away."""

    bodies: dict[Name, dict[str, Any] | None] = Field(default_factory=dict)
    joints: dict[Name, dict[str, Any] | None] = Field(default_factory=dict)
    closures: dict[Name, dict[str, Any] | None] = Field(default_factory=dict)
    elements: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    end: dict[str, Any] | None = None
    placement: dict[str, Any] | None = None
    branch: int | None = None
    guess: dict[Name, RawList] = Field(default_factory=dict)
    title: str | None = None


class LegSourceSpec(LegSpec):
    """A leg as written: in full, with a table, or from a template."""

    table: str | list[Any] | None = None
    template: str | None = None
    values: dict[str, Any] | None = Field(default=None, alias="with")
    override: OverrideSpec | None = None


class RepeatSpec(Strict):
    """A template repeated."""

    repeat: str
    count: int | None = None
    angles: list[Any] | str | None = None
    placements: list[PlacementSpec] | None = None
    table: list[dict[str, Any]] | None = None
    names: list[Name] | None = None
    prefix: str | None = None
    values: dict[str, Any] | None = Field(default=None, alias="with")
    override: dict[Name, OverrideSpec] | None = None


class DescriptionSource(Description):
    """A description as written, with constants, templates and repeated legs."""

    constants: dict[str, Any] = Field(default_factory=dict)
    templates: dict[str, TemplateSpec] = Field(default_factory=dict)
    # As written, with repeats; the description that is read has them expanded, which is another type.
    legs: list[LegSourceSpec | RepeatSpec] = []  # type: ignore[assignment]  # see above


def make_schema() -> dict[str, Any]:
    """Make the schema from the models."""
    schema = DescriptionSource.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "nacelle robot description, formats nacelle/1 and nacelle/2"
    for mapping in (schema, schema["$defs"]["PlacementSpec"]):
        mapping["properties"][OLDER_KEY] = mapping["properties"][PLATFORM_KEY] | {"deprecated": True}
    return schema


def schema_text() -> str:
    """Give the schema as text, as shipped."""
    return json.dumps(make_schema(), indent=1, sort_keys=True) + "\n"


def shipped_schema() -> dict[str, Any]:
    """Read the schema that is shipped with the package."""
    data: dict[str, Any] = json.loads((files("nacelle.model") / _FILE).read_text(encoding="utf-8"))
    return data


def main(arguments: list[str]) -> int:
    """Write the schema next to this file, or with --check say whether it is up to date."""
    path = files("nacelle.model") / _FILE
    if "--check" in arguments:
        fresh = path.is_file() and path.read_text(encoding="utf-8") == schema_text()
        print("schema.json is up to date" if fresh else "schema.json is old: run make format")
        return 0 if fresh else 1
    with open(str(path), "w", encoding="utf-8") as file:
        file.write(schema_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
