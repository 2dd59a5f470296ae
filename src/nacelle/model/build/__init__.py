"""From a checked description to a robot: joints drafted, names resolved, the tree laid."""
