"""Jobs and requests for the tests of their pages."""

from datetime import timedelta

from django.contrib.messages import get_messages
from django.core.files.base import ContentFile
from django.utils import timezone

from jobs.models import Job
from tests.support.portal import address


def create_job(brand, kind="generate", **fields):
    return Job.objects.create(**{"brand": brand, "kind": kind, "title": "Some work", **fields})


def with_file(job, name="work.csv", content=b"a,b", **fields):
    job.result.save("file", ContentFile(content), save=False)
    job.status, job.result_name, job.expires_at = "done", name, timezone.now() + timedelta(days=1)
    for field, value in fields.items():
        setattr(job, field, value)
    job.save()
    return job


def download(client, job):
    return client.get(address("jobs.job", "download", job.pk))


def messages_of(answer):
    return [str(message) for message in get_messages(answer.wsgi_request)]
