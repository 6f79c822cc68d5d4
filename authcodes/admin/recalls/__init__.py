"""The pages about recalls: what is called back, the message, who knows, and what came back."""
