"""The numbers of a robot: as vectors, by groups, free or declared."""
