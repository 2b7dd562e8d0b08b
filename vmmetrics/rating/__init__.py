"""Rating studies by ITU-T P.910, P.913 and BT.500: designs, raters' sessions, export; ``vmmetrics rate``."""
