"""FAVOR-Bench (Tu et al., 2025): files, option parsing, and scores of descriptions without a judge."""

from __future__ import annotations
