"""The equations of motion of robots with flexible links, in general position ([BK2013])."""
