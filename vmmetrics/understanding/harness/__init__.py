"""The evaluation harness of all understanding benchmarks: runs, answers, scores, comparisons."""
