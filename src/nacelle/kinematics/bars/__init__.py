"""Bars: what of a leg lies between two points, and is known by the line between them."""
