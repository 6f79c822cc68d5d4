"""What lists show of print runs while they are made: how far each is, and its file once it is there."""

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.base.badges import badge
from portal.lists.live import LiveAdmin
from portal.pages.jobs import COLOURS, is_on_offer, job_context
from portal.unfold import display


class LiveRuns(LiveAdmin):
    """Part of the page of print runs."""

    live_columns = ("state", "file")

    def is_changing(self, obj: Any) -> bool:
        is_unfinished: bool = obj.job.is_unfinished
        return is_unfinished

    @display(description=gettext_lazy("state"))
    def state(self, run: Any) -> SafeString:
        return self.live(run, "state", badge(COLOURS[run.job.status], run.job.get_status_display()))

    @display(description=gettext_lazy("file"))
    def file(self, run: Any) -> SafeString:
        """To download, while it is kept; whoever sees print runs may have their files."""
        if is_on_offer(run.job):
            address = reverse("admin:jobs_job_download", args=[run.job_id])
            link = '<a class="text-primary-600 underline dark:text-primary-500" href="{}">{}</a>'
            return format_html(link, address, _("Download"))
        return self.live(
            run, "file", format_html("{}", job_context(run.job)["words"] if self.is_changing(run) else "-")
        )
