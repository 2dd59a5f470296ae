"""The command `demo`: one robot from its description to the controller, and a page about it."""
