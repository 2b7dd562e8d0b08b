"""Perception that needs no download: classical vision and the small models in weights/."""
