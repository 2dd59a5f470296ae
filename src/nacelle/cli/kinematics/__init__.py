"""Commands of positions: `ik`, `fk`, `workspace`."""
