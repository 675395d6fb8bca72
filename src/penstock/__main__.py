"""Lets ``python -m penstock`` do what ``penstock`` does."""

from penstock.cli import main

main()
