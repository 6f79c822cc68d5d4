"""The benchmarks: one file for each part, grouped by what they measure."""
