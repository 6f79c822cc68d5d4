"""The API's addresses of jobs."""

from django.urls import path

from jobs.api import jobs

urlpatterns = [
    path("brand/jobs", jobs.BrandJobs.as_view()),
    path("brand/jobs/<id:job_id>", jobs.BrandJob.as_view()),
]
