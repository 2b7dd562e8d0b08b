"""Pictures and tables of prompt lists."""
