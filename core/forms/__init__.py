"""Fields of forms, whatever the form is about."""
