"""Tables of numbers in files, with names, units and places."""
