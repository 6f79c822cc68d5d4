"""What belongs to a brand: hostnames, pictures, quotas, local days."""
