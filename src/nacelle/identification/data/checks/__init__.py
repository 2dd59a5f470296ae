"""Checks of measured data: what is wrong, where, and what would be right."""
