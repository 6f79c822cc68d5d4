"""job.finished: the webhook event when a job ends."""

from uuid import UUID, uuid5

from core.json_values import iso
from events import publishing
from jobs import kinds
from jobs.models import Job
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType

# An arbitrary constant UUID: the namespace of event ids derived from jobs.
EVENT_ID_NAMESPACE = UUID("6d6ff6a0-0a53-4a0d-9df1-9f0d7d3c6b52")


def on_job_end(job: Job) -> None:
    """Publish job.finished in the transaction in which a job ends.

    Only for jobs in the brand's API: data exports belong to the customers. Leaves the title out, because it may contain
    a name.
    """
    if job.kind in kinds.names(lambda kind: kind.for_customer) or job.finished_at is None:
        return
    data = {
        "job_id": job.pk,
        "kind": job.kind,
        "status": job.status,
        "done": job.done,
        "total": job.total,
        "created_at": iso(job.created_at),
        "finished_at": iso(job.finished_at),
    }
    events = webhook_events.events_for_subscribers(
        WebhookType.JOB_FINISHED,
        data,
        brand_id=job.brand_id,
        event_id=uuid5(EVENT_ID_NAMESPACE, f"announce:{WebhookType.JOB_FINISHED}:{job.pk}"),
        at=job.finished_at,
    )
    publishing.publish(messages=events, brand_id=job.brand_id, at=job.finished_at)
