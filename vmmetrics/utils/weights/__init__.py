"""Published weights: manifest, local folder, integrity checks and downloads."""
