"""NumPy's archives of arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from nacelle.files import why_unread
from nacelle.identification.data.formats.recording import Recording, from_arrays, unreadable


def open_npz(path: Path) -> Recording:
    """Read all arrays of numbers; pickled objects are refused."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError as fault:
        raise unreadable(path, *why_unread(path, fault, "npz file")) from None
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError) as fault:
        what = " ".join(str(fault).split())[:120]
        raise unreadable(
            path, f"not an npz file of plain arrays: {what}", "write it by numpy.savez"
        ) from None
    return from_arrays(path, arrays)
