"""Text and pictures for people: markup, style, charts."""
