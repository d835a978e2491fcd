"""The client of a Rollcall directory: requests, an autoposter, votes, the feed, and webhooks."""

from ._autopost import Autoposter, ShardNumbers, autopost, read_shards
from ._follow import FollowMessage, follow
from ._receive import (
    ListingUpdated,
    ReceivedEvent,
    SignatureError,
    VoteCreated,
    VoteReady,
    VoteVoided,
    WebhookDisabled,
    WebhookTested,
    receive,
)
from ._request import Client, DirectoryError
from ._stream import Stream
from ._types import ApiResponse, ShardsBody, StatsBody, VoteLogResult, VoteStatus
from ._votes import VotePage, group_by_request, votes

__all__ = [
    "ApiResponse",
    "Autoposter",
    "Client",
    "DirectoryError",
    "FollowMessage",
    "ListingUpdated",
    "ReceivedEvent",
    "ShardNumbers",
    "ShardsBody",
    "SignatureError",
    "StatsBody",
    "Stream",
    "VoteCreated",
    "VoteLogResult",
    "VotePage",
    "VoteReady",
    "VoteStatus",
    "VoteVoided",
    "WebhookDisabled",
    "WebhookTested",
    "autopost",
    "follow",
    "group_by_request",
    "read_shards",
    "receive",
    "votes",
]
