"""Statements, connections and the database backend."""
