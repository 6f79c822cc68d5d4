"""Additions to TenantAdmin for some pages: pictures, translations, secrets, column choice, live lists."""
