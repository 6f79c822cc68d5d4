"""Dates with times in forms: they show the expected format, and accept a date alone."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

WHOLE_DAY = ("00:00:00", "23:59:59")  # the time if none is given: of a start, and of an end
ENDS = {"ends_at", "valid_until"}
DATE, TIME = _("YYYY-MM-DD"), _("HH:MM")
BEGINS_SO = _("A date such as 2026-12-31 and a time such as 18:00. Without a time, 00:00 is used.")
ENDS_SO = _("A date such as 2026-12-31 and a time such as 18:00. Without a time, 23:59:59 is used.")


class MomentFormField(forms.SplitDateTimeField):
    """A date and a time, in the page's time zone."""

    def __init__(self, *, is_end: bool = False, **options: Any) -> None:
        self.time_left_out = WHOLE_DAY[is_end]
        options["help_text"] = options.get("help_text") or (ENDS_SO if is_end else BEGINS_SO)
        options["error_messages"] = {
            "invalid_date": _("Enter the date as YYYY-MM-DD, such as 2026-12-31."),
            "invalid_time": _("Enter the time as HH:MM, such as 18:00."),
            **options.get("error_messages", {}),
        }
        super().__init__(**options)
        for part, example in zip(self.widget.widgets, (DATE, TIME), strict=True):
            part.attrs["placeholder"] = example

    def clean(self, value: Any) -> Any:
        if isinstance(value, list) and len(value) > 1 and value[0] and not value[1]:
            value = [value[0], self.time_left_out]
        return super().clean(value)
