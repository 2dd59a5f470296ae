"""A robot as kinematic elements: the pen-and-paper view of [OAM]."""
