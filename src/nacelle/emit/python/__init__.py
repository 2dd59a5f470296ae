"""Python and NumPy source."""
