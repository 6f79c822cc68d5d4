"""A customer's timeline: everything that a brand's lists know of a customer, newest first, on one page."""
