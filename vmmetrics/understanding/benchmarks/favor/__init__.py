"""FAVOR-Bench (Tu et al., 2025): its files, which option an answer chooses, descriptions scored without a judge."""

from __future__ import annotations
