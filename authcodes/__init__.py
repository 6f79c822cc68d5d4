"""What a product carries: batches and codes, scans, recalls, imports, print and the dashboard."""
