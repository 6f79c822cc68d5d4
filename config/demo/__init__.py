"""The data of the try-out."""
