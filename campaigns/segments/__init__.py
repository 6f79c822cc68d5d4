"""Segments: conditions over members, compiled to statements, and who fulfils them."""
