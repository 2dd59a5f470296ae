"""Elastodynamics: robots with flexible links in closed loops ([BK2013])."""
