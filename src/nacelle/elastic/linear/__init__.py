"""Linear models of robots with flexible links about a pose: modes, statics, buckling, frequency response."""
