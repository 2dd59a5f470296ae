"""What a camera sees of a robot, and what looking is worth, in pictures and tables."""
