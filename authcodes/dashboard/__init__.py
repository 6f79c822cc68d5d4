"""The figures of Home."""
