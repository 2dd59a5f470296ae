"""A graph of bodies and joints as the text of a description that a person would have written."""
