"""The analysis of a robot before any pose: assembly, mobility, how each leg is solved."""
