"""The version, where nothing else has to be loaded to know it."""

__version__ = "0.2.0"
