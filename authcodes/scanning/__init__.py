"""A scan: looked up, evaluated, recorded, settled."""
