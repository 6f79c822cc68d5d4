"""What a product carries: batches and codes, their scans, recalls, imports, printing, signs of fraud and figures."""
