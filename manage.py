#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"manage.py: {error}")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None):  # the server answered: no matter of where it is
            raise
        reason = str(error).strip().splitlines()[0]
        sys.exit(f"manage.py: the database does not answer (start bin/run, or set DATABASE_URL): {reason}")
