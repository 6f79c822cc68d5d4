"""The till: a separate screen on which staff hand rewards over."""
