"""A video language model as judge: what it is asked, what it sees, how its answer is read and kept."""
