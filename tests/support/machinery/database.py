"""Makes the database that the tests begin with: `python -m tests.support.machinery.database`, with servers running."""

import django
from django.test.utils import setup_databases

if __name__ == "__main__":
    django.setup()
    setup_databases(verbosity=0, interactive=False, keepdb=True)
