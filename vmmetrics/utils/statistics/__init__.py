"""Bootstrap, correlation, agreement and paired tests."""
