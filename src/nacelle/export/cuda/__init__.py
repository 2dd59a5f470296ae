"""Packages of CUDA."""
