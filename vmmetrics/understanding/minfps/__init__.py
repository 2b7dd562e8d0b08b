"""The lowest frame rate at which a question can be answered."""
