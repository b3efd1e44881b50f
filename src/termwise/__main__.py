"""Entry point of ``python -m termwise``."""

from termwise.cli.main import script

if __name__ == "__main__":
    script()
