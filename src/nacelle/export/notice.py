"""The permissive notice of generated files (0BSD), so that they may be linked into anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

LICENSE = "LICENSE.txt"
"""The file of a package that holds the terms."""

TERMS = """\
Zero-Clause BSD (SPDX-License-Identifier: 0BSD)

This holds for the files that nacelle has generated here, not for nacelle itself.

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is
hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE
INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE,
DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN
CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
"""

SPDX = "SPDX-License-Identifier: 0BSD"
_NOTICE = (
    SPDX,
    "Generated: use, copy, modify and distribute it for any purpose; provided as is, no warranty.",
)
_BLOCK, _HASH, _SEMICOLON = "/* {} */\n", "# {}\n", "; {}\n"
_COMMENTS = {
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".comp", ".ld"), _BLOCK),
    **dict.fromkeys((".py", ".txt", ".hal", ".ini", ".mk", ""), _HASH),
    ".ngc": _SEMICOLON,
}


def with_notice(files: Mapping[str, str]) -> dict[str, str]:
    """Texts by their path, each file of source code with the notice in its first lines."""
    return {path: _notice(path) + text for path, text in files.items()}


def _notice(path: str) -> str:
    """The notice in the comments of a file's language; empty where it is data or a page."""
    file = PurePosixPath(path)
    if file.name == LICENSE:
        return ""
    comment = _COMMENTS.get(file.suffix, "")
    return "".join(comment.format(line) for line in _NOTICE) if comment else ""
