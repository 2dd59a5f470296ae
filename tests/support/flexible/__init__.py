"""Reference models of robots with flexible links: a frame of finite elements, and Exudyn."""
