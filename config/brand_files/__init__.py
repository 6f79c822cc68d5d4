"""Brand files: a brand's configuration as YAML, which can be compared with a brand and applied to it."""
