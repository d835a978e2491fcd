"""The types of requests and replies. Generated from the document by `npm run document`."""

from __future__ import annotations

from typing import Literal, Mapping, Sequence, TypedDict


class ApiResponse(TypedDict):
    """The reply of an operation that only confirms what it did."""

    message: str
    """What was done, as a sentence for people. It may change."""
    context: Mapping[str, str]
    """Details for programs, by name; `{}` when there are none."""


class StatsBody(TypedDict, total=False):
    """Absent fields keep their value; 0 is a value. Integers are stored exactly."""

    servers: int
    """Servers the bot is in, 0 to 18446744073709552000."""
    shard_list: Sequence[int]
    """Servers of each shard, by shard id; up to 16,384."""
    shards: int
    """Shards the bot runs."""
    status: Literal["online", "idle", "dnd", "offline"]
    """Presence of the bot: `online`, `idle`, `dnd` or `offline`. Kept until the next one."""
    users: int
    """Users the bot serves."""


class _ShardsBodyRequired(TypedDict):
    shard_count: int
    """How many shards the bot has in all."""
    shards: Sequence[ShardsBodyShard]
    """The shards that this process runs, up to 1000."""


class ShardsBody(_ShardsBodyRequired, total=False):
    """Fields of a shard that are absent keep their value."""

    cluster: str
    """Name of the process or machine that runs these shards."""


class _ShardsBodyShardRequired(TypedDict):
    id: int
    """From 0, below `shard_count`; once per post."""


class ShardsBodyShard(_ShardsBodyShardRequired, total=False):
    servers: int
    """Servers of this shard."""
    users: int
    """Users of this shard."""
    status: Literal["online", "idle", "dnd", "offline"]
    """Presence of this shard; `online` if no post has named one."""


class VoteStatus(TypedDict):
    has_voted: bool
    """Whether the user has to wait before the next vote."""
    valid_votes: Sequence[Vote]
    """The user's votes that count, newest first."""
    vote_info: VoteInfo
    """The rules for votes on this entity, as of now."""
    wait: VoteStatusWait
    """Time until the user can vote again; all 0 when they can."""


class Vote(TypedDict):
    """A vote of a user on an entity."""

    author: str
    """Id of the user who voted."""
    created_at: str
    """When the user voted."""
    credit_redeem: str | None
    """Id of the redeem that used it up; `null`: none did."""
    immutable: bool
    """Whether the monthly reset spares it. The operator decides it."""
    itag: str
    """Id of the vote."""
    target_id: str
    """Id of the entity that was voted on."""
    target_type: str
    """`bot`, `server`, `team` or `pack`."""
    upvote: bool
    """`true` for an upvote, `false` for a downvote."""
    void: bool
    """Whether it counts no more: see `void_reason`."""
    void_reason: str
    """`monthly_reset`, `operator`, `redeemed` or `deleted`; empty for a valid vote."""
    vote_num: int
    """Number of the vote within its request, from 0: one request may count for two votes."""
    voided_at: str | None
    """When it became void; `null` for a valid vote."""


class VoteInfo(TypedDict):
    """The rules for votes on an entity, as of now."""

    multiple_votes: bool
    """Whether a user may vote again after a wait."""
    per_user: int
    """How many votes one request counts for: 2 on weekends by default, else 1."""
    supports_downvotes: bool
    """Whether it can be voted down."""
    supports_partial_vote_credits_redeem: bool
    """Whether some of its votes can be redeemed alone."""
    supports_upvotes: bool
    """Whether it can be voted up."""
    vote_credits: bool
    """Whether votes can be redeemed as credits."""
    vote_time: int
    """How long a user waits between votes, in hours: 4, 6 or 12 by default."""


class VoteStatusWait(TypedDict):
    """Time until the user can vote again; all 0 when they can."""

    hours: int
    """Whole hours."""
    minutes: int
    """Whole minutes beside the hours, 0 to 59."""
    seconds: int
    """Seconds beside the minutes, rounded up, 0 to 59."""


class VoteLog(TypedDict):
    results: Sequence[VoteLogResult]
    """The votes after the cursor, oldest first."""
    epoch: str
    """Changes when the log begins again; part of every cursor."""
    next: str
    """Send it as `after` to continue."""
    head: str
    """Cursor of the newest vote."""
    oldest: str
    """Cursor before the first vote."""


class _VoteLogResultRequired(TypedDict):
    number: int
    """Position in the log of this listing, without holes."""
    itag: str
    """Id of the vote."""
    author: str
    """Id of the user who voted."""
    upvote: bool
    """`true` for an upvote, `false` for a downvote."""
    created_at: str
    """When the user voted."""
    ref: str
    """What the link that led to the vote said as `ref`; empty for nothing."""
    void: bool
    """Whether the vote has been voided since."""
    void_reason: str
    """`monthly_reset`, `operator`, `redeemed` or `deleted`; empty unless void."""


class VoteLogResult(_VoteLogResultRequired, total=False):
    voter: VoteLogResultVoter
    """With `voter=1`: what the user had done by this vote; later votes change nothing."""


class VoteLogResultVoter(TypedDict):
    """With `voter=1`: what the user had done by this vote; later votes change nothing."""

    times: int
    """How often the user voted: requests, each once, up or down."""
    streak: int
    """Days (UTC) in a row with a vote, up to today or yesterday; else 0."""
    longest: int
    """The most days in a row so far."""
