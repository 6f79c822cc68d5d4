"""A worker that imports a large file of reference data and is killed after it has written half of it."""

import os
import signal
import sys
from typing import Any

import django

django.setup()

from jobs import runner  # noqa: E402 - the settings are loaded first
from portal.import_export import resource, tables  # noqa: E402


def main(job_id: int, portion: int, portions: int) -> None:
    written = 0
    write = resource.TenantResource.write

    def write_and_die(self: Any, *arguments: Any, **options: Any) -> None:
        nonlocal written
        write(self, *arguments, **options)
        written += 1
        if written == portions:
            os.kill(os.getpid(), signal.SIGKILL)

    tables.MAX_ROWS = portion
    resource.TenantResource.write = write_and_die  # type: ignore[method-assign]
    runner.run(job_id)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
