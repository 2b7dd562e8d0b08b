"""Adapters to training and data frameworks: a file each, imported by nobody else; the framework must be installed.

Where a framework has no word for a missing reward, an adapter raises :class:`vmmetrics.RewardError`.
"""
