"""Packages of C."""
