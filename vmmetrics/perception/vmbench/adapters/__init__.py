"""One adapter per published model, behind the protocols of the scene."""
