"""Form fields for any form."""
