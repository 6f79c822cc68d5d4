"""What happens to each request."""
