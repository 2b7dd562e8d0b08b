"""TUNA (Kong et al., 2025): its files, which option an answer chooses, descriptions scored with a judge."""
