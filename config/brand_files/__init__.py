"""A brand as a file: what staff configure, written as YAML, compared with a brand and applied to it."""
