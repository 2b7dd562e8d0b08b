"""Doing harm to clips on purpose, and changing them harmlessly: by name, seeded, with the truth of what was done."""
