"""What proves the figures: rendered clips with known truth, and the programs that measure the suite on them."""
