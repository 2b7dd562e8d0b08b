"""Training of the torch classifier (extra ``cas``): ``vmmetrics cas train``."""
