"""Rendered clips with known truth."""

from benchmarks.scenes.render import render
from benchmarks.scenes.spec import CameraSpec, GlitchSpec, MotionSpec, ObjectSpec, PresenceSpec, SceneSpec, TimingSpec
from benchmarks.scenes.suites import SUITES, suite
from benchmarks.scenes.truth import EventTruth, ObjectTruth, SyntheticClip

__all__ = [
    "SUITES",
    "CameraSpec",
    "EventTruth",
    "GlitchSpec",
    "MotionSpec",
    "ObjectSpec",
    "ObjectTruth",
    "PresenceSpec",
    "SceneSpec",
    "SyntheticClip",
    "TimingSpec",
    "render",
    "suite",
]
