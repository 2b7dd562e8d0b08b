"""Evaluation of a commonsense classifier on labelled clips."""
