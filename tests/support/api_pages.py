"""The API reference: a page a wing of the package, written from signatures and docstrings.

`python -m support.api_pages docs/api` (PYTHONPATH=tests; `make docs` runs it) writes the pages. They are not
kept in git: what they say is in the source. The names are those of the public packages, each on one page
under a heading of its own, so that `api/dynamics.md#inverse_dynamics` is its address.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import nacelle
import nacelle.errors

# Page: title; the package of that name, or the top of nacelle, or the errors.
WINGS = {
    "top": "Robots, and names on top",
    "kinematics": "Kinematics",
    "dynamics": "Dynamics",
    "trajectory": "Trajectories",
    "simulation": "Simulation",
    "identification": "Identification",
    "control": "Control",
    "elastic": "Flexible links",
    "vision": "Cameras",
    "papers": "Formulations of the papers",
    "io": "Files",
    "errors": "Errors",
}


class PublicName(NamedTuple):
    """A public name: its page, and where users find it."""

    page: str
    owner: ModuleType

    def value(self, name: str) -> Any:
        """What the name stands for."""
        return getattr(self.owner, name)


def _public() -> dict[str, PublicName]:
    """Every public name once: on the page of its package, those on top alone on the first page."""
    names = {
        name: PublicName("errors", nacelle.errors)
        for name, value in vars(nacelle.errors).items()
        if inspect.isclass(value) and value.__module__ == "nacelle.errors"
    }
    for page in WINGS:
        if page not in ("top", "errors"):
            package = importlib.import_module(f"nacelle.{page}")
            names |= {name: PublicName(page, package) for name in package.__all__ if name not in names}
    return names | {name: PublicName("top", nacelle) for name in nacelle.__all__ if name not in names}


HOMES = _public()

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises")
_NAMED = {"Args", "Attributes", "Raises"}


def wing_of(name: str) -> str:
    """The page on which a public name is described."""
    return HOMES[name].page


# ------------------------------------------------------------------------------ docstrings


def sections(doc: str) -> dict[str, str]:
    """A docstring by its sections; what comes before the first is under the empty name."""
    parts: dict[str, list[str]] = {"": []}
    at = ""
    for line in inspect.cleandoc(doc).splitlines():
        if line.endswith(":") and line[:-1] in SECTIONS:
            at = line[:-1]
            parts[at] = []
        else:
            parts[at].append(line)
    return {name: inspect.cleandoc("\n" + "\n".join(lines)) for name, lines in parts.items()}


def entries(text: str) -> list[tuple[str, str]]:
    """The entries `name: what it is` of a section, continuation lines joined."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        start = re.match(r"([*\w.]+(?:, [*\w.]+)*): ?(.*)", line)
        if start:
            found.append((start[1], start[2]))
        elif found and line.strip():
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
    return found


# ------------------------------------------------------------------------------ markdown


def link_names(text: str, wing: str) -> str:
    """Prose of a docstring as markdown, public names in backticks linked to their place."""
    out = []
    for piece in re.split(r"(`[^`]*`)", text):
        if not piece.startswith("`"):
            out.append(re.sub(r"([*<$]|(?<=\])\()", lambda m: "&lt;" if m[0] == "<" else f"\\{m[0]}", piece))
            continue
        name = re.match(r"`(?:nacelle\.)?(\w+)(?:\(.*\))?`$", piece)
        if name and name[1] in HOMES:
            page = wing_of(name[1])
            out.append(f"[{piece}]({'' if page == wing else f'{page}.md'}#{name[1]})")
        else:
            out.append(piece)
    return "".join(out)


def body(text: str, wing: str) -> str:
    """Paragraphs linked; indented lines (equations, examples) stay as they are, as blocks of code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("    "):
            blocks.append(block)
        else:
            blocks.append(
                "\n".join(
                    line if line.startswith("    ") else link_names(line, wing) for line in block.splitlines()
                )
            )
    return "\n\n".join(blocks)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in markdown; bars are kept apart in prose, and are no separators in code."""

    def shielded(cell: str) -> str:
        return "".join(
            p if p.startswith("`") else p.replace("|", "\\|") for p in re.split(r"(`[^`]*`)", cell)
        )

    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(shielded(cell) for cell in line) + " |" for line in lines)


def shown_type(annotation: Any) -> str:
    """A type as it is written in the source."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return "" if annotation is inspect.Parameter.empty else text


def describe_entry(doc: str, wing: str, types: dict[str, str]) -> str:
    """A docstring as markdown: text, then a table for each section."""
    parts = sections(doc)
    out = [body(parts.pop(""), wing)]
    for name, text in parts.items():
        if name in _NAMED:
            rows = []
            for entry, what in entries(text):
                kind = types.get(entry.lstrip("*"), "")
                label = link_names(f"`{entry}`", wing) if name == "Raises" else f"`{entry}`"
                rows.append(
                    (
                        label,
                        *([f"`{kind}`" if kind else ""] if name != "Raises" else []),
                        link_names(what, wing),
                    )
                )
            out += [table((name, *(["type"] if name != "Raises" else []), ""), rows)]
        else:
            out += [f"**{name}**: {link_names(' '.join(text.split()), wing)}"]
    return "\n\n".join(out)


def signature(name: str, thing: Any) -> str:
    """How it is called, a parameter a line if it is long."""
    try:
        of = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parts, star = [], False
    for parameter in of.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        if parameter.name != "self":
            default = parameter.default
            shown = str(default) if isinstance(default, enum.Enum) else repr(default)
            if " at 0x" in shown or "<factory>" in shown or len(shown) > 60:
                shown = "..."
            stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
            parts.append(stars + parameter.name + ("" if default is parameter.empty else f"={shown}"))
    line = f"{name}({', '.join(parts)})"
    if len(line) > 88:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"
    returned = "" if inspect.isclass(thing) else shown_type(of.return_annotation)
    return f"```py\n{line}{f' -> {returned}' if returned else ''}\n```"


def annotations(thing: Any) -> dict[str, str]:
    """Types by the name of a parameter or a field."""
    found = {}
    for base in reversed(inspect.getmro(thing) if inspect.isclass(thing) else (thing,)):
        found.update({name: shown_type(of) for name, of in getattr(base, "__annotations__", {}).items()})
    if not inspect.isclass(thing):
        return found
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return found
    return {parameter.name: shown_type(parameter.annotation) for parameter in parameters} | found


def members(thing: type, wing: str) -> list[str]:
    """Public methods and properties of a class, one after the other."""
    out = []
    for name, member in sorted(vars(thing).items()):
        if name.startswith("_"):
            continue
        inner = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        doc = inspect.getdoc(inner)
        if isinstance(inner, property) or (doc and type(inner).__name__ == "cached_property"):
            out.append(f"**`.{name}`** {link_names(' '.join((doc or '').split()), wing)}")
        elif inspect.isfunction(inner) and doc:
            out.append(signature(f".{name}", inner))
            out.append(describe_entry(doc, wing, annotations(inner)))
    return out


def described_name(name: str, wing: str) -> str:
    """All that is said of one public name."""
    thing = HOMES[name].value(name)
    out = [f"## {name} {{ #{name} }}"]
    if isinstance(thing, ModuleType):
        out.append(describe_entry(inspect.getdoc(thing) or "", wing, {}))
    elif inspect.isclass(thing) and issubclass(thing, enum.Enum):
        out += [
            describe_entry(inspect.getdoc(thing) or "", wing, {}),
            ", ".join(f"`{m}`" for m in thing.__members__),
        ]
    elif callable(thing):
        out.append(signature(name, thing))
        out.append(describe_entry(inspect.getdoc(thing) or "", wing, annotations(thing)))
        out += members(thing, wing) if inspect.isclass(thing) else []
    else:
        out.append(f"`{thing!r}`")
    out.append(f"<small>`{HOMES[name].owner.__name__}.{name}`</small>")
    return "\n\n".join(part for part in out if part)


def pages() -> dict[str, str]:
    """All pages of the reference: file name and text."""
    on: dict[str, list[str]] = {wing: [] for wing in WINGS}
    for name in sorted(HOMES, key=str.lower):
        if not name.startswith("__"):
            on[wing_of(name)].append(name)
    index = [
        "# Every public name",
        "Written from the docstrings by `make docs`. The page on [Python](../python.md) shows which names "
        "are on top, such as `nacelle.load`, and which in packages, such as `nacelle.control.closed_loop`.",
    ]
    texts = {}
    for wing, names in on.items():
        if not names:
            continue
        title = WINGS[wing]
        about = (
            inspect.getdoc(nacelle if wing == "top" else importlib.import_module(f"nacelle.{wing}")) or ""
        ).split("\n\n")[0]
        index.append(f"## [{title}]({wing}.md)\n\n{about}")
        rows = []
        for name in names:
            value = HOMES[name].value(name)
            first = (inspect.getdoc(value) or "").split("\n\n")[0]
            plain = "" if isinstance(value, (tuple, str)) else link_names(" ".join(first.split()), "")
            rows.append((f"[`{name}`]({wing}.md#{name})", plain.replace("](#", f"]({wing}.md#")))
        index.append(table(("name", ""), rows))
        texts[f"{wing}.md"] = (
            "\n\n".join([f"# {title}", about, *(described_name(n, wing) for n in names)]) + "\n"
        )
    return {"index.md": "\n\n".join(index) + "\n", **texts}


def main(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
