"""`python -m nacelle`."""

from nacelle.cli import main

main()
