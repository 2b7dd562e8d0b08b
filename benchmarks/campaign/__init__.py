"""Kills, faults, bad input and attacks, by the thousand: ``python -m benchmarks.campaign FAMILY... --out DIR``."""
