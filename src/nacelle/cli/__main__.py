"""`python -m nacelle.cli`."""

from nacelle.cli import main

main()
