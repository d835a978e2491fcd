"""Verifies requests of webhooks (Standard Webhooks) and returns their event. Nothing of a request may be
trusted before: anyone can send to the address of a webhook."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any, Iterable, Literal, Mapping, Optional, Sequence, TypedDict, Union, cast

from ._request import refuse_booleans


class WebhookUser(TypedDict):
    id: str
    username: str
    display_name: str
    avatar: str
    """A URL, or `''`."""


class WebhookTarget(TypedDict):
    type: Literal["bot", "server", "team", "pack"]
    id: str
    name: str


class VoterFigures(TypedDict):
    """What a user had done by a vote: requests, and days (UTC) in a row with one."""

    times: int
    streak: int
    longest: int


class VoteCreatedData(TypedDict):
    epoch: str
    number: int
    """Position of the request's first vote in the vote log."""
    itag: str
    vote_ids: Sequence[str]
    weight: int
    """How many votes it counted for."""
    upvote: bool
    ref: str
    """What the link that led to the vote said as `ref`; empty for nothing."""
    user: WebhookUser
    voter: VoterFigures
    target: WebhookTarget
    votes: int
    """The total once this vote was written."""
    created_at: str
    next_vote_at: str
    test: Literal[False]


class VoteCreated(TypedDict):
    type: Literal["vote.created"]
    timestamp: str
    data: VoteCreatedData
    id: str
    """The same in every attempt: take each id once."""


class VoidedVote(TypedDict):
    itag: str
    upvote: bool
    created_at: str
    user: WebhookUser


class VoteVoidedData(TypedDict):
    epoch: str
    number: int
    """The highest position in the vote log of the votes that became void."""
    reason: str
    """`operator`, `redeemed` or `monthly_reset`; others may come later."""
    upvotes: int
    """How many votes became void."""
    downvotes: int
    vote: Optional[VoidedVote]
    """The vote if it was a single one."""
    before: Optional[str]
    """For a reset: the votes before this time became void."""
    target: WebhookTarget
    votes: int
    """The total after the decision."""
    test: Literal[False]


class VoteVoided(TypedDict):
    """A decision made past votes void, or the operator took such a decision back."""

    type: Literal["vote.voided", "vote.restored"]
    timestamp: str
    data: VoteVoidedData
    id: str


class VoteReadyData(TypedDict):
    user: WebhookUser
    target: WebhookTarget
    test: Literal[False]


class VoteReady(TypedDict):
    """A user who asked for a reminder may vote again."""

    type: Literal["vote.ready"]
    timestamp: str
    data: VoteReadyData
    id: str


class ListingUpdatedData(TypedDict):
    fields: Sequence[str]
    target: WebhookTarget
    test: Literal[False]


class ListingUpdated(TypedDict):
    """The profile was edited: the names of the fields."""

    type: Literal["listing.updated"]
    timestamp: str
    data: ListingUpdatedData
    id: str


class WebhookDisabledData(TypedDict):
    webhook_id: str
    name: str
    reason: str
    target: WebhookTarget
    test: Literal[False]


class WebhookDisabled(TypedDict):
    """The server disabled another webhook of the listing."""

    type: Literal["webhook.disabled"]
    timestamp: str
    data: WebhookDisabledData
    id: str


class WebhookTestedData(TypedDict):
    webhook_id: str
    user: WebhookUser
    target: WebhookTarget
    test: Literal[True]


class WebhookTested(TypedDict):
    type: Literal["webhook.test"]
    timestamp: str
    data: WebhookTestedData
    id: str


# Other types may come later: ignore those that you do not know.
ReceivedEvent = Union[
    VoteCreated, VoteVoided, VoteReady, ListingUpdated, WebhookDisabled, WebhookTested
]


class SignatureError(Exception):
    """The request does not come from the directory: answer 401."""


def _to_bytes(header: str) -> bytes:
    """Some frameworks decode bytes that are not UTF-8 to lone surrogates, which cannot be encoded."""
    return header.encode(errors="replace")


def _sign(secret: str, content: bytes) -> bytes:
    key = base64.b64decode(secret[len("whsec_") :] if secret.startswith("whsec_") else secret)
    if not key:
        raise ValueError("The secret is empty: anyone could sign with it.")
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())


def _is_signed(secrets: Iterable[str], signatures: str, content: bytes) -> bool:
    given = [_to_bytes(entry[3:]) for entry in signatures.split(" ") if entry.startswith("v1,")]
    expected = [_sign(secret, content) for secret in secrets]
    # Compares all of them, each in constant time.
    return any([hmac.compare_digest(one, other) for one in expected for other in given])


def _is_recent(seconds: str, tolerance: float, now: float | None) -> bool:
    try:
        return abs((time.time() if now is None else now) - int(seconds)) <= tolerance
    except (ValueError, OverflowError):
        return False


def receive(
    headers: Mapping[str, Any],
    body: bytes | str,
    secret: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> ReceivedEvent:
    """Verifies a request of a webhook and returns its event.

    `headers` is what your framework has, `body` the body as it came; `secret` may be several while one is
    being replaced. Raises `SignatureError` if the request was not signed with one of them, was changed, or is
    more than `tolerance` seconds old. `now` replaces the clock (seconds since 1970).

    >>> event = receive(request.headers, await request.read(), os.environ["WEBHOOK_SECRET"])
    >>> if event["type"] == "vote.created" and is_new(event["id"]):
    ...     await reward(event["data"]["user"]["id"])
    """
    refuse_booleans({"tolerance": tolerance, "now": now})
    given = {name.lower(): str(value) for name, value in headers.items()}
    missing = [name for name in ("webhook-id", "webhook-timestamp", "webhook-signature") if name not in given]
    if missing:
        raise SignatureError(f"the header {missing[0]} is missing")
    id, seconds = given["webhook-id"], given["webhook-timestamp"]
    if not _is_recent(seconds, tolerance, now):
        raise SignatureError("the request is too old, or from the future")
    data = body.encode() if isinstance(body, str) else body
    secrets = [secret] if isinstance(secret, str) else secret
    if not _is_signed(secrets, given["webhook-signature"], _to_bytes(f"{id}.{seconds}.") + data):
        raise SignatureError("the signature does not match")
    return cast(ReceivedEvent, {**json.loads(data), "id": id})
