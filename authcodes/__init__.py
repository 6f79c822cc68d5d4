"""What products carry: batches and codes, their scans, recalls, imports, printing, fraud signs and figures."""
