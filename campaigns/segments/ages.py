"""The age of a segment's evaluation as text that other languages can inflect: "7 minutes ago"."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60


def age_text(moment: datetime, *, at: datetime) -> str:
    """In the largest unit that fits, rounded down."""
    seconds = max(0, int((at - moment).total_seconds()))
    if seconds < MINUTE:
        return _("less than a minute ago")
    if seconds < HOUR:
        number = seconds // MINUTE
        return ngettext("%(number)d minute ago", "%(number)d minutes ago", number) % {"number": number}
    if seconds < DAY:
        number = seconds // HOUR
        return ngettext("%(number)d hour ago", "%(number)d hours ago", number) % {"number": number}
    number = seconds // DAY
    return ngettext("%(number)d day ago", "%(number)d days ago", number) % {"number": number}
