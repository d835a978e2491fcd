"""The client of a Rollcall directory: requests, an autoposter, votes, the feed, and webhooks."""

from ._autopost import Autoposter, ShardNumbers, autopost, read_shards
from ._follow import FollowMessage, follow
from ._receive import ReceivedEvent, SignatureError, VoteCreated, VoteVoided, WebhookTested, receive
from ._request import Client, DirectoryError
from ._stream import Stream
from ._types import ApiResponse, ShardsBody, StatsBody, VoteLogResult, VoteStatus
from ._votes import VotePage, votes

__all__ = [
    "ApiResponse",
    "Autoposter",
    "Client",
    "DirectoryError",
    "FollowMessage",
    "ReceivedEvent",
    "ShardNumbers",
    "ShardsBody",
    "SignatureError",
    "StatsBody",
    "Stream",
    "VoteCreated",
    "VoteLogResult",
    "VotePage",
    "VoteStatus",
    "VoteVoided",
    "WebhookTested",
    "autopost",
    "follow",
    "read_shards",
    "receive",
    "votes",
]
