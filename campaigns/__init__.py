"""What earns: how actions come in, what they are worth, and the campaigns they advance."""
