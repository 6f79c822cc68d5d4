"""The portal's pages about products, codes, their scans and recalls."""

from authcodes.admin import batches, codes, products, recalls, scans

__all__ = ["batches", "codes", "products", "recalls", "scans"]
