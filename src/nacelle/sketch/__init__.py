"""A first description of a robot from its leg types: `nacelle new NAME --leg 6-UPS`.

`letters` reads the notation, `posture` places the joints and offers directions for their axes, `screws` says
how a platform on such legs moves, `search` chooses the directions, `text` writes the YAML file.
"""
