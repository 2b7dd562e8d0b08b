"""TUNA (Kong et al., 2025): files, option parsing, and scores of captions with a judge."""
