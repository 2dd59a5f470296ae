"""What pages carry with them: the one style, and scripts that run in the page without any request."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

# Files of each script, in the order in which they run.
SCRIPTS = {"scene3d": ("three.min.js", "scene3d.js")}


@cache
def style() -> str:
    """The style sheet of all pages."""
    return _read("style.css")


@cache
def script(name: str) -> str:
    """A bundled script by name: all its files, one after the other.

    Raises:
        KeyError: if there is no such script.
    """
    return "\n".join(_read(f"scripts/{file}") for file in SCRIPTS[name])


def digest(code: str) -> str:
    """SHA-256 of a script in base64, as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _read(place: str) -> str:
    return files("nacelle.page").joinpath(place).read_text(encoding="utf-8")
