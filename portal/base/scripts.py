"""Which scripts a page loads."""

from typing import Any

from django.forms import Media

from portal.unfold import ModelAdmin

SLUG_SCRIPTS = {
    f"admin/js/{name}.js" for name in ("urlify", "prepopulate", "vendor/xregexp/xregexp", "vendor/xregexp/xregexp.min")
}


class WithoutSlugScripts(ModelAdmin):
    """Django's pages all have 50 kB of scripts that make slugs; here only those do that make some."""

    makes_slugs = False  # while somebody types a name

    @property
    def media(self) -> Media:
        result: Any = super().media
        if not self.makes_slugs:
            # There is no public way. The lists stay apart: what they are merged with later says which comes first.
            lists = result._js_lists  # noqa: SLF001
            result._js_lists = [[each for each in names if each not in SLUG_SCRIPTS] for names in lists]  # noqa: SLF001
        media: Media = result
        return media
