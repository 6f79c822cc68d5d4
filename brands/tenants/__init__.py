"""What a brand has: hostnames, pictures, quotas, local days."""
