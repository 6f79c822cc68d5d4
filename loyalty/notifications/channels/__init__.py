"""E-mail, SMS and push."""
