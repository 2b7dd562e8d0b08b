"""The five metrics as pure functions: arrays in, numbers and events out."""
