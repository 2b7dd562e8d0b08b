"""All that users can observe, recorded from a tree: ``python -m benchmarks.net compute --tree TREE --out DIR``."""
