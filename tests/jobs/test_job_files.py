"""Files of jobs: saved completely, replaced by later attempts, and purged when they expire."""

import io

import pytest
from django.utils import timezone

from authcodes.tasks import purge_files
from jobs import files as jobs
from jobs import runner
from jobs.models import Job
from jobs.tasks import resume_jobs
from tests.jobs.conftest import LONG_AGO, run_job, start_job

pytestmark = pytest.mark.usefixtures("handlers")


class Interrupted(io.BytesIO):
    """A file that calls a function whenever it is read during its upload."""

    def __init__(self, content, callback):
        super().__init__(content)
        self.callback = callback

    def read(self, *size):
        self.callback()
        return super().read(*size)


def first_attempt(brand):
    """Return the first attempt at a new job."""
    job = start_job(brand, "counts")
    Job.objects.update(status="running", attempts=1)
    job.refresh_from_db()
    return runner.Run(job)


def file_contents(folder):
    return sorted(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_file_of_a_superseded_attempt_is_not_saved(brand, tmp_path):
    run = first_attempt(brand)

    with pytest.raises(runner.JobSupersededError):
        run.save_file(Interrupted(b"ana@example.com", lambda: Job.objects.update(attempts=2)), name="scans.csv")
    with pytest.raises(runner.JobSupersededError):
        run.save_file(io.BytesIO(b"ana@example.com"), name="scans.csv")

    assert file_contents(tmp_path) == []


def test_file_replaces_that_of_an_earlier_attempt(brand, tmp_path, django_capture_on_commit_callbacks):
    first_attempt(brand).save_file(io.BytesIO(b"of a worker that was killed"), name="scans.csv")
    Job.objects.update(attempts=2)

    with django_capture_on_commit_callbacks(execute=True):
        runner.Run(Job.objects.get()).save_file(io.BytesIO(b"all of it"), name="scans.csv")

    assert file_contents(tmp_path) == [b"all of it"]
    assert Job.objects.get().result.read() == b"all of it"


def test_file_of_a_worker_killed_during_upload_is_purged_with_its_job(brand, tmp_path):
    def kill():
        raise SystemExit

    with pytest.raises(SystemExit):
        first_attempt(brand).save_file(Interrupted(b"ana@example.com", kill), name="scans.csv")
    Job.objects.update(status="failed", expires_at=timezone.now())
    assert len(file_contents(tmp_path)) == 1

    jobs.purge_files()

    assert file_contents(tmp_path) == []


def test_expired_files_are_purged_and_their_jobs_stay(brand):
    job = run_job(brand, "counts")
    Job.objects.update(expires_at=timezone.now())

    assert jobs.purge_files() == 1

    assert not job.result.storage.exists(job.result.name)
    assert Job.objects.get().result == ""


def make_undeletable(path):
    """Replace the file at `path` with something that not even root can delete as a file."""
    path.unlink()
    (path / "in the way").mkdir(parents=True)


def test_undeletable_file_delays_neither_jobs_nor_other_files(brand, tmp_path, caplog):
    stuck, other = run_job(brand, "counts"), run_job(brand, "counts")
    make_undeletable(tmp_path / stuck.result.name)
    lost = start_job(brand, "remembers")
    Job.objects.filter(pk=lost.pk).update(status="running", attempts=1, alive_at=timezone.now() - LONG_AGO)
    Job.objects.update(expires_at=timezone.now())

    assert (purge_files(), resume_jobs()) == (1, 1)

    assert file_contents(tmp_path) == []
    assert Job.objects.get(pk=stuck.pk).result.name == stuck.result.name
    assert Job.objects.get(pk=other.pk).result.name == ""
    assert stuck.result.name in caplog.text
