"""The benchmarks: one file for each part, by what is measured."""
