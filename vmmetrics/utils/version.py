"""Version of the package; importing it loads nothing else."""

__version__ = "0.2.0"
