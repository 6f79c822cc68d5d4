"""The brand's jobs over HTTP, for its own systems and staff: what was started, and its progress."""

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import (
    BrandList,
    BrandView,
    list_endpoint,
    list_output,
    row_endpoint,
    row_of,
    row_output,
)
from brands.models.credentials import ApiKey
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


BrandJobListOutput = list_output(BrandJobOutput)
BrandJobRowOutput = row_output(BrandJobOutput)


class BrandJobFilter(TenantFilterSet):
    status = ChoiceFilter(values=Job.Status.values, description="Only jobs with this status.")


def jobs_of(access: BrandAccess) -> QuerySet[Job]:
    """The brand's jobs without exports of customers' data, which belong to these customers."""
    return Job.objects.filter(brand=access.brand_id).exclude(kind__in=kinds.names(lambda kind: kind.for_customer))


class BrandJobs(BrandList):
    """The brand's jobs."""

    filterset_class = BrandJobFilter
    output = BrandJobListOutput

    @list_endpoint("list_jobs", "List jobs", BrandJobListOutput, EXAMPLE, filters=BrandJobFilter)
    @for_brand(ApiKey.Scope.READ, "jobs.job")
    def get(self, _request: Request, access: BrandAccess) -> Response:
        """List the brand's jobs, newest first. Needs the scope `read`."""
        return self.listed(jobs_of(access))


class BrandJob(BrandView):
    """One of the brand's jobs."""

    @row_endpoint("read_job", "Read a job", BrandJobRowOutput, EXAMPLE)
    @for_brand(ApiKey.Scope.READ, "jobs.job")
    def get(self, _request: Request, access: BrandAccess, job_id: int) -> Response:
        """Return a job with its progress and log. Needs the scope `read`."""
        return Response(BrandJobRowOutput.serialize(row_of(jobs_of(access), pk=job_id)))
