"""``python -m vmmetrics``: the command line."""

from vmmetrics.cli.main import main

if __name__ == "__main__":
    main()
