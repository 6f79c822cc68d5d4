"""The till: a screen of its own, on which staff hand rewards over."""
