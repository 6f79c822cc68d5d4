"""A customer's timeline: everything that a brand's lists contain about a customer, newest first, on one page."""
