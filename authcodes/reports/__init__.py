"""What exported files hold."""
