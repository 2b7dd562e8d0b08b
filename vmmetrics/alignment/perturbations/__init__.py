"""Perturbations of clips, harmful and harmless: by name, seeded, with ground truth."""
