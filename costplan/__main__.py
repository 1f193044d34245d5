"""Run `python -m costplan`."""

from costplan.cli import main

main()
