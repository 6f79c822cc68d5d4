"""What some pages add to TenantAdmin: pictures, translations, secrets, columns to choose, lists that stay current."""
