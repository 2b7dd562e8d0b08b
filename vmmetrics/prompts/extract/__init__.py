"""From captions to metadata: subjects, places and actions of any corpus."""
