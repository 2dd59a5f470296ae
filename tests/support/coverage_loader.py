"""SlipCover's loader hands out the data files of a package, as the loader that it wraps does.

`make coverage` names this module as a plugin of pytest (`-p support.coverage_loader`): nacelle reads its stubs
with `pkgutil.get_data`, which asks the loader of the package, and SlipCover 1.1 has no such method.
"""

from __future__ import annotations

from slipcover.importer import SlipcoverLoader


def _get_data(loader: SlipcoverLoader, path: str) -> bytes:
    return loader.orig_loader.get_data(path)


if not hasattr(SlipcoverLoader, "get_data"):
    SlipcoverLoader.get_data = _get_data
