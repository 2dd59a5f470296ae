"""A robot as a graph of bodies and joints, and the graph as other formats can hold it."""
