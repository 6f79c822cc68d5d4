"""What brands hold about a person besides the account: invitations to staff, and what they saved as staff."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.utils import timezone

from brands.models.idempotent_requests import IdempotentRequest
from brands.models.people import User
from brands.models.saved_lists import SavedList
from brands.models.undo_offers import UndoOffer
from brands.staff_login import invitations
from brands.staff_login.models import Invitation
from brands.user_mentions import Mentions
from core.db import row_guard
from core.personal_data import Topic


def export_invitations(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """As JSON: the brand's invitations of the person to its staff, with the role and the outcome."""
    email = User.objects.values_list("email", flat=True).get(pk=user_id)
    with row_guard.brand_wide("an invitation names an address, and no customer"):
        return [
            {"role": row.role, "invited_at": row.created_at.isoformat(), "state": row.state(at=timezone.now()).value}
            for row in Invitation.objects.filter(brand=brand_id, email=email).order_by("id")
        ]


def erase_invitations(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    """Call before the person's own e-mail address is erased."""
    email = User.objects.values_list("email", flat=True).get(pk=user_id)
    invitations.erase_address(brand_id=brand_id, email=email)


INVITATIONS = Topic(export_invitations, erase_invitations)


def export_answers(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """As JSON: answers to the brand's systems about the person within the last day, stored for repeated requests."""
    with row_guard.brand_wide("answers to the brand's own systems are no customer's to list"):
        requests = IdempotentRequest.objects.filter(brand=brand_id, customer=user_id).order_by("id")
        return [{"at": row.created_at.isoformat(), "answer": json.loads(row.answer)} for row in requests]


def erase_answers(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    IdempotentRequest.objects.filter(brand=brand_id, customer=user_id).delete()


ANSWERS = Topic(export_answers, erase_answers)


def erase_answers_naming(*, brand_id: int, mentions: Mentions) -> None:
    """Delete stored answers about many people, such as an import's, that mention the person."""
    stored = IdempotentRequest.objects.filter(brand=brand_id, customer=None).values_list("pk", "answer")
    naming = [key for key, answer in stored.iterator() if mentions.anywhere.search(answer)]
    IdempotentRequest.objects.filter(pk__in=naming).delete()


def export_saved_lists(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """As JSON: the lists that the person saved while working for the brand."""
    with row_guard.brand_wide("saved lists are staff's, and no customer's to list"):
        rows = SavedList.objects.filter(owner=user_id, brand=brand_id).order_by("id")
        return [{"saved_at": row.created_at.isoformat(), "name": row.name, "filters": row.query} for row in rows]


def erase_saved_lists(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    SavedList.objects.filter(owner=user_id, brand=brand_id).delete()


SAVED_LISTS = Topic(export_saved_lists, erase_saved_lists)


def export_undo_offers(user_id: int, brand_id: int) -> list[dict[str, Any]]:
    """What staff did with the person's data in the last minutes and may still undo.

    Deleted notes are not exported, and neither are others: notes are internal to staff.
    """
    with row_guard.brand_wide("what staff may undo is no customer's to list"):
        rows = UndoOffer.objects.filter(customer=user_id, brand=brand_id).order_by("created_at", "pk")
        return [{"at": row.created_at.isoformat(), "kind": row.kind} for row in rows]


def erase_undo_offers(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:  # noqa: ARG001 - an Eraser
    UndoOffer.objects.filter(customer=user_id, brand=brand_id).delete()


UNDO_OFFERS = Topic(export_undo_offers, erase_undo_offers)


def erase_saved_lists_naming(*, brand_id: int, mentions: Mentions, lists_of_customers: Collection[str]) -> None:
    """Delete what staff saved with a search for the person, or under their name.

    A single name may be any word. In the search of a list that finds customers, it counts as the person's, although
    it may be a namesake's. Anywhere else it is kept.
    """
    saved = SavedList.objects.filter(brand=brand_id).values_list("pk", "name", "query", "model_label")
    naming = [
        key
        for key, name, query, label in saved
        if mentions.anywhere.search("\n".join([name, *values_in(query)]))
        or (label in lists_of_customers and any(map(mentions.as_a_search.fullmatch, query.get("q", ()))))
    ]
    SavedList.objects.filter(pk__in=naming).delete()


def values_in(query: dict[str, list[str]]) -> list[str]:
    return [text for values in query.values() for text in values]
