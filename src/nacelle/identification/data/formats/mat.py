"""MATLAB's files up to version 7: variables, and fields of structures as STRUCTURE.FIELD."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nacelle.files import why_unread
from nacelle.identification.data.formats.recording import Recording, from_arrays, unreadable
from nacelle.spatial.scalar import Array


def open_mat(path: Path) -> Recording:
    """Read all variables that are arrays of numbers."""
    from scipy.io import loadmat

    try:
        with path.open("rb") as stream:
            variables = loadmat(stream, simplify_cells=True)
    except NotImplementedError:
        # So scipy refuses files of version 7.3, which are HDF5.
        raise unreadable(
            path, "a MATLAB file of version 7.3 (HDF5) is not read", "save(FILE, VARIABLES, '-v7') in MATLAB"
        ) from None
    except OSError as fault:
        raise unreadable(path, *why_unread(path, fault, ".mat file")) from None
    except Exception as fault:
        # The reader of damaged files raises errors of many kinds.
        what = " ".join(str(fault).split())[:120]
        raise unreadable(
            path, f"not a MATLAB file: {what}", "save(FILE, VARIABLES, '-v7') in MATLAB"
        ) from None
    arrays: dict[str, Array] = {}
    _collect("", {name: value for name, value in variables.items() if not name.startswith("__")}, arrays)
    return from_arrays(path, arrays)


def _collect(name: str, value: Any, arrays: dict[str, Array]) -> None:
    """Gather arrays of numbers from a variable and the fields of its structures."""
    if isinstance(value, dict):
        for key, entry in value.items():
            _collect(f"{name}.{key}" if name else key, entry, arrays)
    elif isinstance(value, np.ndarray):
        arrays[name] = value
