"""Erasure of a person from the texts that staff wrote about recalls."""

from typing import Any

from authcodes.models.batches import Recall
from authcodes.models.recalls import WithdrawnRecall
from authcodes.recalls import returns
from brands.user_mentions import Mentions, replace_mentions

TEXTS = ("contact", "message", "translations", "reason", "withdrawal_reason")


def erase_user(*, brand_id: int, mentions: Mentions, pseudonym: str) -> None:
    """Rewrite notes on returns, texts of withdrawn recalls, and reasons of recalls in force.

    The message of a recall in force stays: it concerns safety, and its contact may be a namesake.
    """
    returns.erase_user(brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)
    # In this order: a recall that is being withdrawn is waited for, and then found among the withdrawn ones.
    rewrite(Recall, ("reason",), brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)
    rewrite(WithdrawnRecall, TEXTS, brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)


def rewrite(
    model: type[Recall | WithdrawnRecall], names: tuple[str, ...], *, brand_id: int, mentions: Mentions, pseudonym: str
) -> None:
    """A brand has few recalls, so each is locked and read; concurrent erasures do not undo each other."""
    manager: Any = model._default_manager
    for row in manager.select_for_update(no_key=True).filter(brand_id=brand_id).order_by("pk"):
        changed = []
        for name in names:
            before = getattr(row, name)
            after = replace_mentions(before, mentions.anywhere, pseudonym)
            if after != before:
                longest = model._meta.get_field(name).max_length  # type: ignore[union-attr]
                setattr(row, name, after[:longest] if isinstance(after, str) else after)
                changed.append(name)
        if changed:
            row.save(update_fields=changed)
