"""Files that survive interruption: journal, atomic writes, locks, job folders, provenance."""
