"""Merge two accounts of one person over HTTP, and undo it, for the brand's own systems and staff."""

from uuid import uuid4

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, row_output, write_endpoint
from brands.errors import UserNotFound
from brands.identity.roles import ACT
from brands.models.credentials import ApiKey
from core.api.inputs import ID, Input
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.errors import Invalid
from loyalty.api.members.brand_members import LABEL, member_of
from loyalty.errors import MergeUndoNotPossible
from loyalty.merges import merge, undo
from loyalty.models.ledger import AccountMerge

EXAMPLE = {
    "merge_id": 12,
    "target_user_id": 42,
    "source_user_id": 57,
    "points_moved": 120,
    "points_settled": 0,
    "new_balance": 440,
    "level": "Silver",
    "merged_at": WHEN,
    "undo_until": "2026-03-15T09:26:53Z",
    "undone_at": None,
}


class MergeInput(Input):
    into = serializers.IntegerField(**ID, help_text="The `user_id` of the member whose account remains.")
    reason = serializers.CharField(max_length=500, help_text="Recorded in the audit log.")


class UndoMergeInput(Input):
    reason = serializers.CharField(max_length=500, help_text="Recorded in the audit log.")


class MergeOutput(Output):
    merge_id = serializers.IntegerField(source="pk")
    target_user_id = serializers.IntegerField(source="target.user_id")
    source_user_id = serializers.IntegerField(source="source.user_id")
    points_moved = PointsField(source="points", help_text="The balance of the account that ended.")
    points_settled = PointsField(source="settled", help_text="Points that one account owed, settled from the other.")
    new_balance = PointsField(source="target.points", help_text="The balance of the account that remains.")
    level = serializers.CharField(source="target.current_level", allow_blank=True)
    merged_at = TimestampField(source="created_at")
    undo_until = TimestampField(source="undo_ends_at")
    undone_at = TimestampField(allow_null=True)


MergeRowOutput = row_output(MergeOutput)


def answer(made: AccountMerge) -> Response:
    row = AccountMerge.objects.select_related("target", "source").get(pk=made.pk)
    return Response(MergeRowOutput.serialize(row), status=201)


class MergeMember(BrandView):
    """Merges one of the brand's members into another."""

    @write_endpoint(
        "merge_member",
        "Merge a member into another",
        request=MergeInput,
        responses={201: MergeRowOutput},
        raises=[UserNotFound],
        calls=[merge.merge],
        examples=[
            request_example("Into member 42", {"into": 42, "reason": "One person, ticket 4711"}),
            data_example("Merged", EXAMPLE),
        ],
    )
    @for_brand(ApiKey.Scope.POINTS, LABEL, ACT, writes=True)
    def post(self, request: Request, access: BrandAccess, user_id: int) -> Response:
        """End a member's account, and move everything it has to the account `into` of the same person.

        Needs the scope `points`. Send an Idempotency-Key. Points, lifetime points, pending and owed points, redemption
        codes and campaign progress move together or not at all. Events that still name the ended member count for the
        one that remains. A merge can be undone for a day.
        """
        data = MergeInput.parse(request.data)
        if data["into"] == user_id:
            raise Invalid("Name another member to merge this one into.", details={"field": "into"})
        source, target = member_of(access.brand_id, user_id), member_of(access.brand_id, data["into"])
        access.customer_id = target.user_id
        context = access.audit_context(data["reason"])
        return answer(merge.merge(target=target, source=source, key=uuid4(), audit_context=context))


class UndoMerge(BrandView):
    """Undoes the merge that ended a member's account."""

    @write_endpoint(
        "undo_merge",
        "Undo a merge",
        request=UndoMergeInput,
        responses={201: MergeRowOutput},
        raises=[UserNotFound, MergeUndoNotPossible],
        calls=[undo.undo],
        examples=[
            request_example("A mistake", {"reason": "Two persons after all"}),
            data_example("Undone", {**EXAMPLE, "new_balance": 320, "undone_at": WHEN}),
        ],
    )
    @for_brand(ApiKey.Scope.POINTS, LABEL, ACT, writes=True)
    def post(self, request: Request, access: BrandAccess, user_id: int) -> Response:
        """Undo a merge and restore both accounts; `user_id` is the member whose account ended.

        Needs the scope `points`. Send an Idempotency-Key. It is possible for a day. If points that have to go back were
        spent since, the answer says how many are missing, and nothing changes.
        """
        data = UndoMergeInput.parse(request.data)
        source = member_of(access.brand_id, user_id)
        access.customer_id = user_id
        made = undo.current_merge(source=source)
        if made is None:
            raise MergeUndoNotPossible("This member's account is not merged into another one.")
        return answer(undo.undo(made=made, audit_context=access.audit_context(data["reason"])))
