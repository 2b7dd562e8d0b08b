"""The report that people look at: a folder of one page with data, posters, videos and overlays of runs."""
