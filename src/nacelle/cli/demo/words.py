"""Commands as they are typed."""

from __future__ import annotations

import shlex


def typed(*words: object) -> str:
    """A command of nacelle as one types it, names with spaces quoted."""
    return shlex.join(["nacelle", *map(str, words)])
