"""Replays: decide past actions again with a draft, without writing points."""
