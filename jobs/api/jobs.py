"""The brand's jobs over HTTP, for its own systems and staff: what was started, and its progress."""

from django.db.models import QuerySet
from rest_framework import serializers

from brands.access.brand_access import BrandAccess
from brands.access.endpoints import BrandView, ModelEndpoints
from core.api.filters import ChoiceFilter, TenantFilterSet
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, TimestampField
from jobs import kinds
from jobs.models import Job

EXAMPLE = {
    "id": 912,
    "kind": "generate",
    "title": "Generate 1000 codes of Jackets, spring",
    "status": "running",
    "done": 400,
    "total": 1000,
    "log": [],
    "created_at": WHEN,
    "started_at": WHEN,
    "finished_at": None,
}


class BrandJobOutput(Output):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=Job.Status.values)
    done = serializers.IntegerField(help_text="How many of `total` are done.")
    total = serializers.IntegerField()
    log = serializers.SerializerMethodField(help_text="The messages of the job, one per line.")
    created_at = TimestampField()
    started_at = TimestampField(allow_null=True)
    finished_at = TimestampField(allow_null=True)

    def get_log(self, job: Job) -> list[str]:
        return job.log.splitlines()


class BrandJobFilter(TenantFilterSet):
    status = ChoiceFilter(values=Job.Status.values, description="Only jobs with this status.")


def jobs_of(access: BrandAccess) -> QuerySet[Job]:
    """The brand's jobs without exports of customers' data, which belong to these customers."""
    return Job.objects.filter(brand=access.brand_id).exclude(kind__in=kinds.names(lambda kind: kind.for_customer))


JOBS = ModelEndpoints("jobs.job", BrandJobOutput, EXAMPLE, filters=BrandJobFilter)


class BrandJobs(BrandView):
    """The brand's jobs."""

    @JOBS.list_endpoint("list_jobs", "List jobs")
    def get(self, access: BrandAccess) -> QuerySet[Job]:
        """List the brand's jobs, newest first. Needs the scope `read`."""
        return jobs_of(access)


class BrandJob(BrandView):
    """One of the brand's jobs."""

    @JOBS.row_endpoint("read_job", "Read a job")
    def get(self, access: BrandAccess, job_id: int) -> QuerySet[Job]:
        """Return a job with its progress and log. Needs the scope `read`."""
        return jobs_of(access).filter(pk=job_id)
