"""Statements, connections and the engine of the database."""
