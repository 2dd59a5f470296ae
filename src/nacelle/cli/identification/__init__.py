"""Commands of identification: `base`, `excite`, `identify`, `validate`."""
