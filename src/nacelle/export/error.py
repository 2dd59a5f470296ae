"""What goes wrong in an export."""

from __future__ import annotations

from nacelle.errors import NacelleError


class ExportError(NacelleError):
    """A model cannot be exported as asked, or the folder cannot be written."""
