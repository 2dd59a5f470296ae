"""Results as tables of notebooks."""
