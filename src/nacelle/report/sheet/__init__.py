"""The data sheet of a robot: one page, a file a section."""
