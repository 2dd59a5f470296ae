"""C99 source."""
