"""Doing harm to clips on purpose, and changing them harmlessly: by name, seeded, with the truth of what was done."""

from vmmetrics.alignment.perturbations.library import (
    DEFECTS,
    INVARIANCES,
    PERTURBATIONS,
    Done,
    Perturbation,
    Perturbed,
    perturbation,
)
from vmmetrics.alignment.perturbations.objects import NotApplicableError, Things

__all__ = [
    "DEFECTS",
    "INVARIANCES",
    "PERTURBATIONS",
    "Done",
    "NotApplicableError",
    "Perturbation",
    "Perturbed",
    "Things",
    "perturbation",
]
