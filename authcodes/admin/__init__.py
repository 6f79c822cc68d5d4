"""The portal's pages about products, codes, their scans and recalls, and the work on them."""

from authcodes.admin import batches, codes, imports, jobs, products, recalls, scans

__all__ = ["batches", "codes", "imports", "jobs", "products", "recalls", "scans"]
