"""Motion prompts: metadata, generation, filtering, review and selection."""
