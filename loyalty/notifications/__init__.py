"""Notifications to customers by e-mail, SMS and push, about their points and about recalls."""
