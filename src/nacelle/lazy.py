"""Public packages whose names are imported when they are first used.

A public package consists of a docstring in `__init__.py` and a list of imports in `__init__.pyi` next to it:

    from nacelle.kinematics.workspace import workspace as workspace

or, where it is called differently there, of an import and an assignment, `compile = compile_function`.
The list stands once: type checkers and editors read the stub; `attach` reads the same lines when a name of
the package is used for the first time, so that `import nacelle` itself costs next to nothing.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from importlib.resources import files
from types import ModuleType
from typing import Any, NamedTuple


class Home(NamedTuple):
    """Where a public name is defined: its module, and what it is called there."""

    module: str
    name: str


@functools.cache
def _stub_names(package: str) -> dict[str, Home]:
    """What the stub of a package imports, each name with its home."""
    stub = files(package).joinpath("__init__.pyi").read_bytes()
    public: dict[str, Home] = {}
    imported: dict[str, Home] = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                # As type checkers read a stub: only `import name as name` makes a name public.
                names = public if alias.asname else imported
                names[alias.asname or alias.name] = Home(node.module or "", alias.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            public |= {
                target.id: imported[node.value.id] for target in node.targets if isinstance(target, ast.Name)
            }
    return public


@functools.cache
def public_names(package: str) -> dict[str, Home]:
    """The public names of a package, in the order of its stub, each with its home; not its packages."""
    return {name: home for name, home in _stub_names(package).items() if home.module != package}


def attach(package: str) -> None:
    """Make the names of a package's stub its attributes, each imported at its first use."""
    module = sys.modules[package]
    module.__class__ = _LazyPackage
    # In the module, not in its class: completion in notebooks trusts modules alone.
    module.__dict__["__getattr__"] = functools.partial(_import_name, module)


def _import_name(module: ModuleType, name: str) -> Any:
    """A public name of a package, or a module of it, imported."""
    package = module.__name__
    if name == "__all__":
        return list(public_names(package))
    if name in (homes := public_names(package)):
        home = homes[name]
        value = getattr(importlib.import_module(home.module), home.name)
        module.__dict__[name] = value
        return value
    if not name.startswith("_"):
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)


class _LazyPackage(ModuleType):
    """A package that lists its public names, and keeps them where its modules are called alike."""

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *_stub_names(self.__name__)})

    def __setattr__(self, name: str, value: object) -> None:
        """Keep a public name where a module of the package has the same one.

        The import system would otherwise put the module `nacelle.export` in the place of the function.
        """
        if not (isinstance(value, ModuleType) and name in public_names(self.__name__)):
            super().__setattr__(name, value)
