"""Pictures and films of what cost a clip points."""
