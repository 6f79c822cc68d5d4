"""The pages about recalls: what is called back, the words, who knows, and what came back."""
