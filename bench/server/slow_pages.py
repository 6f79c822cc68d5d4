"""A page whose statement keeps PostgreSQL as busy as the worst filter could, for the part `neighbours`."""

import os

from django.contrib import admin
from django.db import connection
from django.http import HttpRequest, HttpResponse

ROWS = int(os.environ.get("BENCH_HEAVY_ROWS", "12000000"))
COUNTS_FOR_SECONDS = "SELECT count(*) FROM generate_series(1, %s) AS i WHERE i %% 7 = 3"


def heavy(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view
    with connection.cursor() as cursor:
        cursor.execute(COUNTS_FOR_SECONDS, [ROWS])
        return HttpResponse(f"{cursor.fetchone()}")


view = admin.site.admin_view(heavy)
