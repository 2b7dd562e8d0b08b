"""Charts and tables of prompt lists."""
