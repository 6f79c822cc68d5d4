"""A scan: lookup, evaluation, recording and settlement."""
