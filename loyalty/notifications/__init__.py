"""Notices: telling customers by e-mail, SMS and push what happened to their points, and what is recalled."""
