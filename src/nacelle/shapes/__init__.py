"""Shapes of bodies: those of a description, and those that the joints suggest."""
