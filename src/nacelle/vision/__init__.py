"""What a camera sees of a robot: images of its legs, lines in them, and the motion that they give."""
