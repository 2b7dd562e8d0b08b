"""Perception of a clip: flow, camera, objects, tracks, poses and quality, computed once and shared by the metrics."""
