"""Parameter files of SYMORO+ and OpenSYMORO (.par)."""
