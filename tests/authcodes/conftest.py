"""Fixtures and helpers of the tests of codes: a browser of the brand's owner, a batch's form, the jobs' run."""

from typing import Any

import pytest

from brands.models.people import User
from jobs import runner
from jobs.models import Job
from tests.support.portal import browser


@pytest.fixture
def client(owner: User) -> Any:
    return browser(owner)


def new_batch(brand, **fields):
    numbering = {"prefix": "AUT-", "starting_number": 1, "number_width": 6, "quantity": 5, "signed": "plain"}
    return {"brand": brand.pk, "range_name": "Autumn", **numbering, "scan_limit": 1, **fields}


def run_jobs():
    for job in Job.objects.unfinished():
        runner.run(job.pk)
