"""Files of jobs: never half-offered, replaced, and forgotten when they expire."""

import io

import pytest
from django.utils import timezone

from authcodes.tasks import purge_files
from jobs import files as jobs
from jobs import runner
from jobs.models import Job
from jobs.tasks import resume_jobs
from tests.jobs.conftest import LONG_AGO, ran, start

pytestmark = pytest.mark.usefixtures("handlers")


class Interrupted(io.BytesIO):
    """A file during whose upload something happens."""

    def __init__(self, content, what):
        super().__init__(content)
        self.what = what

    def read(self, *size):
        self.what()
        return super().read(*size)


def attempt(brand):
    """The first at a job."""
    job = start(brand, "counts")
    Job.objects.update(status="running", attempts=1)
    job.refresh_from_db()
    return runner.Run(job)


def files(folder):
    return sorted(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_file_of_an_attempt_that_was_taken_over_is_not_kept(brand, tmp_path):
    run = attempt(brand)

    with pytest.raises(runner.JobSupersededError):
        run.save_file(Interrupted(b"ana@example.com", lambda: Job.objects.update(attempts=2)), name="scans.csv")
    with pytest.raises(runner.JobSupersededError):
        run.save_file(io.BytesIO(b"ana@example.com"), name="scans.csv")

    assert files(tmp_path) == []


def test_a_file_replaces_that_of_an_earlier_attempt(brand, tmp_path, django_capture_on_commit_callbacks):
    attempt(brand).save_file(io.BytesIO(b"of a worker that was killed"), name="scans.csv")
    Job.objects.update(attempts=2)

    with django_capture_on_commit_callbacks(execute=True):
        runner.Run(Job.objects.get()).save_file(io.BytesIO(b"all of it"), name="scans.csv")

    assert files(tmp_path) == [b"all of it"]
    assert Job.objects.get().result.read() == b"all of it"


def test_a_file_whose_worker_is_killed_while_it_uploads_is_forgotten_with_its_job(brand, tmp_path):
    def kill():
        raise SystemExit

    with pytest.raises(SystemExit):
        attempt(brand).save_file(Interrupted(b"ana@example.com", kill), name="scans.csv")
    Job.objects.update(status="failed", expires_at=timezone.now())
    assert len(files(tmp_path)) == 1

    jobs.purge_files()

    assert files(tmp_path) == []


def test_files_are_forgotten_when_they_expire_and_the_job_stays(brand):
    job = ran(brand, "counts")
    Job.objects.update(expires_at=timezone.now())

    assert jobs.purge_files() == 1

    assert not job.result.storage.exists(job.result.name)
    assert Job.objects.get().result == ""


def undeletable(path):
    """What lies at `path` cannot be deleted from now on, nor by root."""
    path.unlink()
    (path / "in the way").mkdir(parents=True)


def test_a_file_that_cannot_be_deleted_holds_up_neither_jobs_nor_other_files(brand, tmp_path, caplog):
    stuck, other = ran(brand, "counts"), ran(brand, "counts")
    undeletable(tmp_path / stuck.result.name)
    lost = start(brand, "remembers")
    Job.objects.filter(pk=lost.pk).update(status="running", attempts=1, alive_at=timezone.now() - LONG_AGO)
    Job.objects.update(expires_at=timezone.now())

    assert (purge_files(), resume_jobs()) == (1, 1)

    assert files(tmp_path) == []
    assert Job.objects.get(pk=stuck.pk).result.name == stuck.result.name
    assert Job.objects.get(pk=other.pk).result.name == ""
    assert stuck.result.name in caplog.text
