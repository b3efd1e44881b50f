"""``python -m termwise`` is the command line."""

from termwise.cli.main import script

if __name__ == "__main__":
    script()
