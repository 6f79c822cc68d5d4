"""The pages for recalls: their scope, message, notified customers and returned pieces."""
