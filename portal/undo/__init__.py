"""The Undo button beside what a message says was done."""
