"""The house in numbers and as a picture: modules, imports between them, cycles, folders, lines.

`make house` prints the numbers and draws docs/pictures/house.svg; `PYTHONPATH=tests python -m support.house
SRC [PICTURE]` does so for the `src` of any checkout, to compare with how it was.
"""

from __future__ import annotations

import ast
import functools
import io
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "nacelle"


@dataclass(frozen=True)
class House:
    """The modules of a package and what they import of it.

    Attributes:
        lines: of every module.
        files: where every module is.
        folder: of every module, as a package.
        imports: pairs of modules (importer, imported), those inside functions and for type checkers too.
    """

    lines: dict[str, int]
    files: dict[str, Path]
    folder: dict[str, str]
    imports: frozenset[tuple[str, str]]

    @functools.cached_property
    def code(self) -> dict[str, int]:
        """Lines of every module without docstrings, comments and blank ones."""
        return {module: _code_lines(path) for module, path in self.files.items()}

    @property
    def cycles(self) -> list[list[str]]:
        """Modules that import each other, directly or not: strongly connected components of two and more."""
        ahead: dict[str, list[str]] = {module: [] for module in self.lines}
        for a, b in self.imports:
            ahead[a].append(b)
        return [sorted(group) for group in _components(ahead) if len(group) > 1]

    @property
    def chain(self) -> list[str]:
        """The longest chain of imports, from its top; without those for type checkers it is shorter."""
        ahead: dict[str, list[str]] = {module: [] for module in self.lines}
        for a, b in self.imports:
            ahead[a].append(b)
        longest: dict[str, list[str]] = {}
        # Components come with what they import before them.
        for group in _components(ahead):
            below = [longest[b] for a in group for b in ahead[a] if b not in group]
            best = max(below, key=len, default=[])
            for module in group:
                longest[module] = [*sorted(group), *best] if len(group) > 1 else [module, *best]
        return max(longest.values(), key=len, default=[])

    @property
    def folders(self) -> Counter[str]:
        """How many files every folder has."""
        return Counter(self.folder.values())

    @property
    def arrows_up(self) -> list[tuple[str, str]]:
        """Imports by which siblings (files and folders of one folder) import each other: the fewest found.

        Siblings of a cycle are put in a row one by one: what imports the least of the rest, less what the
        rest imports of it, stands lowest. What still points up from there is listed.
        """
        between: dict[str, dict[tuple[str, str], list[tuple[str, str]]]] = {}
        for a, b in sorted(self.imports):
            ours, theirs = a.split("."), b.split(".")
            shared = next((k for k, (x, y) in enumerate(zip(ours, theirs, strict=False)) if x != y), 0)
            # A package's own file and what is below it are one.
            if shared > 1:
                pair = ours[shared], theirs[shared]
                between.setdefault(".".join(ours[:shared]), {}).setdefault(pair, []).append((a, b))
        found = []
        for pairs in between.values():
            ahead: dict[str, list[str]] = {name: [] for pair in pairs for name in pair}
            for a, b in pairs:
                ahead[a].append(b)
            for group in _components(ahead):
                rest = sorted(group)
                while rest:
                    lowest = min(rest, key=lambda name: _balance(name, rest, pairs))
                    rest.remove(lowest)
                    found += [tie for other in rest for tie in pairs.get((lowest, other), ())]
        return found

    @property
    def lone(self) -> list[str]:
        """Modules that are imported from one place alone, a module of the same folder."""
        users: dict[str, list[str]] = {}
        for a, b in self.imports:
            users.setdefault(b, []).append(a)
        return sorted(
            module
            for module, by in users.items()
            if len(by) == 1
            and self.folder[by[0]] == self.folder[module]
            and self.files[module].name != "__init__.py"
        )

    def numbers(self) -> dict[str, str]:
        """What is counted, by name."""
        folder, files = self.folders.most_common(1)[0]
        longest = max(self.lines, key=lambda module: self.lines[module])
        return {
            "modules": str(len(self.lines)),
            "imports between them": str(len(self.imports)),
            "cycles": f"{len(self.cycles)} with {sum(map(len, self.cycles))} modules",
            "arrows up": f"{len(self.arrows_up)} imports between siblings that import each other",
            "lone modules": f"{len(self.lone)} imported once, in their own folder",
            "longest chain": f"{len(self.chain)} modules (from {self.chain[0]})",
            "largest folder": f"{files} files ({folder})",
            "longest file": f"{self.lines[longest]} lines ({longest})",
            "lines": str(sum(self.lines.values())),
            "lines of code": str(sum(self.code.values())),
        }


def _balance(name: str, others: list[str], pairs: dict[tuple[str, str], list[tuple[str, str]]]) -> int:
    """How many more imports run from a sibling to others than back."""
    return sum(len(pairs.get((name, b), ())) - len(pairs.get((b, name), ())) for b in others if b != name)


def read_house(source: Path) -> House:
    """Read all modules under a folder `src`."""
    files = {_module(path, source): path for path in sorted((source / PACKAGE).rglob("*.py"))}
    imports = set()
    for module, path in files.items():
        for name in _imported_names(path):
            parts = name.split(".")
            known = next(
                (".".join(parts[:k]) for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in files), ""
            )
            if known and known != module and not module.startswith(f"{known}.") and known != PACKAGE:
                imports.add((module, known))
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in files.items()}
    folder = {module: ".".join(path.parent.relative_to(source).parts) for module, path in files.items()}
    return House(lines, files, folder, frozenset(imports))


@functools.cache
def _statements(path: Path) -> list[ast.stmt]:
    """All statements of a file, those inside others too; expressions are not gone through."""
    found: list[ast.stmt] = []
    ahead: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.stmt):
            found.append(node)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, block, ())
            ahead += inner if isinstance(inner, list) else ()
    return found


def _code_lines(path: Path) -> int:
    """Lines with code on them: neither docstrings nor comments nor blank ones."""
    text = path.read_text(encoding="utf-8")
    documented = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    skipped = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def many_arguments(source: Path, most: int = 6) -> list[str]:
    """Functions with more positional arguments than that, self and cls apart."""
    found = []
    for path in sorted((source / PACKAGE).rglob("*.py")):
        for node in _statements(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [
                    a.arg for a in (*node.args.posonlyargs, *node.args.args) if a.arg not in ("self", "cls")
                ]
                if len(names) > most:
                    found.append(f"{_module(path, source)}.{node.name}")
    return found


def bare_tuples(source: Path) -> list[str]:
    """Parameters of functions that are tuples of some things without a name: `pair: tuple[float, float]`."""
    found = []
    for path in sorted((source / PACKAGE).rglob("*.py")):
        for node in _statements(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                found += [
                    f"{_module(path, source)}.{node.name}: {a.arg}"
                    for a in arguments
                    if a.annotation is not None and any(map(_is_bare, _alternatives(a.annotation)))
                ]
    return found


def _alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    """The members of a union, or the annotation itself."""
    if isinstance(annotation, ast.BinOp):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    else:
        yield annotation


def _is_bare(annotation: ast.expr) -> bool:
    """Whether an annotation is a tuple of a fixed length."""
    return (
        isinstance(annotation, ast.Subscript)
        and isinstance(annotation.value, ast.Name)
        and annotation.value.id == "tuple"
        and isinstance(annotation.slice, ast.Tuple)
        and not (isinstance(last := annotation.slice.elts[-1], ast.Constant) and last.value is Ellipsis)
    )


def tree_lines(folder: Path) -> str:
    """Lines and files of the Python code under a folder."""
    files = list(folder.rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    return f"{lines} lines in {len(files)} files"


def _module(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported_names(path: Path) -> Iterator[str]:
    for node in _statements(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == PACKAGE:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == PACKAGE)


def _components(ahead: dict[str, list[str]]) -> list[list[str]]:
    """Strongly connected components (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in ahead[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            place = stack.index(node)
            found.append(stack[place:])
            del stack[place:]

    sys.setrecursionlimit(10_000)
    for node in ahead:
        if node not in index:
            visit(node)
    return found


# ---- the picture: a row a layer, a box a package, a square a module

_CELL, _GAP, _HEAD, _LABEL = 9, 14, 18, 150


def _layers() -> list[list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["id"] == "house")
    return [[name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]


def draw(house: House) -> str:
    """The house as SVG; modules in cycles are red, long ones are darker."""
    tied = {module for cycle in house.cycles for module in cycle}
    parts: list[str] = []
    y, width = 10, 0
    for layer in _layers():
        x, height = 10, 0
        for package in layer:
            own = sorted(
                m for m in house.lines if m.startswith(f"{PACKAGE}.{package}.") or m == f"{PACKAGE}.{package}"
            )
            if not own:
                continue
            folders: dict[str, list[str]] = {}
            for module in own:
                folders.setdefault(
                    house.folder[module].removeprefix(f"{PACKAGE}.").partition(".")[2], []
                ).append(module)
            inside = max(len(group) for group in folders.values()) * (_CELL + 1) + _LABEL
            box = _HEAD + len(folders) * (_CELL + 3) + 4
            parts.append(
                f'<rect x="{x}" y="{y}" width="{inside}" height="{box}" fill="#f4f4f2" stroke="#888"/>'
            )
            parts.append(f'<text x="{x + 5}" y="{y + 13}" font-weight="bold">{package}</text>')
            for row, (folder, group) in enumerate(sorted(folders.items())):
                top = y + _HEAD + row * (_CELL + 3)
                parts.append(f'<text x="{x + 8}" y="{top + _CELL - 1}" font-size="9">{folder}</text>')
                for k, module in enumerate(group):
                    shade = max(60, 215 - house.lines[module] // 3)
                    fill = "#c33" if module in tied else f"rgb({shade},{shade},{min(255, shade + 25)})"
                    left = x + _LABEL - 5 + k * (_CELL + 1)
                    title = f"<title>{module}: {house.lines[module]} lines</title>"
                    square = f'x="{left}" y="{top}" width="{_CELL}" height="{_CELL}" fill="{fill}"'
                    parts.append(f"<rect {square}>{title}</rect>")
            x += inside + _GAP
            height = max(height, box)
        y += height + _GAP if height else 0
        width = max(width, x)
    space = f'xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}"'
    head = f'<svg {space} font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{width}" height="{y}" fill="white"/>', *parts, "</svg>\n"])


if __name__ == "__main__":
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src"
    picture = (
        Path(sys.argv[2])
        if len(sys.argv) > 2
        else None
        if len(sys.argv) > 1
        else ROOT / "docs/pictures/house.svg"
    )
    read = read_house(source)
    tuples = bare_tuples(source)
    counted = {"bare tuples": f"{len(tuples)} parameters", "tests": tree_lines(source.parent / "tests")}
    for what, value in (read.numbers() | counted).items():
        print(f"{what:22}{value}")
    for folder in sorted(read.folders):
        own = [module for module in read.lines if read.folder[module] == folder]
        print(f"  {folder:44}{sum(read.code[module] for module in own):6} lines of code")
    for cycle in read.cycles:
        print("cycle:", ", ".join(cycle))
    for a, b in read.arrows_up:
        print("up:", a, "imports", b)
    for module in read.lone:
        print("lone:", module, read.lines[module], "lines")
    for parameter in tuples:
        print("bare tuple:", parameter)
    for function in many_arguments(source):
        print("more than six positional arguments:", function)
    if picture is not None:
        picture.write_text(draw(read), encoding="utf-8")
