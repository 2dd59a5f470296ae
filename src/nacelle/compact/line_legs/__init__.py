"""What the bodies of bars require: rods and struts that are known by the line between two points."""
