"""Pictures and films of the events that cost a clip points."""
