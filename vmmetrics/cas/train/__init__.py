"""Training of the torch classifier (``pip install 'vmmetrics[cas]'``): ``vmmetrics cas train``."""
