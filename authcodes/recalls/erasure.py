"""What staff wrote of recalls, for the erasure of a person's data: none of it names them any more."""

from typing import Any

from authcodes.models.batches import Recall
from authcodes.models.recalls import WithdrawnRecall
from authcodes.recalls import returns
from brands.user_mentions import Mentions, without

TEXTS = ("contact", "message", "translations", "reason", "withdrawal_reason")


def erase_user(*, brand_id: int, mentions: Mentions, pseudonym: str) -> None:
    """Notes on returns, the texts of withdrawn recalls, and the reasons of recalls in force.

    What a recall in force says to customers stays: it is about safety, and its contact may be a namesake's.
    """
    returns.erase_user(brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)
    # In this order: one that is just being withdrawn is waited for, and then found among those that were.
    rewrite(Recall, ("reason",), brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)
    rewrite(WithdrawnRecall, TEXTS, brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)


def rewrite(
    model: type[Recall | WithdrawnRecall], names: tuple[str, ...], *, brand_id: int, mentions: Mentions, pseudonym: str
) -> None:
    """A brand has few recalls: each is locked and read, so that nobody's rewriting undoes another's."""
    manager: Any = model._default_manager  # noqa: SLF001 - Django's public API of models
    for row in manager.select_for_update(no_key=True).filter(brand_id=brand_id).order_by("pk"):
        changed = []
        for name in names:
            before = getattr(row, name)
            after = without(before, mentions.anywhere, pseudonym)
            if after != before:
                longest = model._meta.get_field(name).max_length  # type: ignore[union-attr] # noqa: SLF001
                setattr(row, name, after[:longest] if isinstance(after, str) else after)
                changed.append(name)
        if changed:
            row.save(update_fields=changed)
