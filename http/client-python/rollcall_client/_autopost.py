"""Posts the numbers of a running bot: every process posts the shards that it runs, and the directory adds
them up, so no process needs to know the others.

It reads the client of discord.py and its forks by its shape, from a thread of its own, and never raises into
the bot: failures go to `on_error`.
"""

from __future__ import annotations

import logging
import random
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from ._request import Client, DirectoryError, Stopped, compute_backoff, refuse_booleans
from ._types import ShardsBody, ShardsBodyShard, StatsBody

EVERY_SECONDS = 300.0
CHECK_SECONDS = 10.0
BACKOFF_SECONDS_MAX = 900.0
SHARDS_PER_POST_MAX = 1000
REPORT_SECONDS = 3600.0
STOP_SECONDS_MAX = 2.0


class ShardNumbers(NamedTuple):
    """The numbers of the shards that this process runs."""

    shard_count: int
    shards: Sequence[ShardsBodyShard]


class _KnownGuild(NamedTuple):
    """What is remembered of a guild, for the time of an outage."""

    shard_id: Optional[int]
    users: int


def _to_number(value: Any) -> Optional[int]:
    """A boolean is no number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _list_shard_ids(bot: Any) -> Sequence[int]:
    running = getattr(bot, "shards", None) or getattr(bot, "shard_ids", None)
    if running:
        return sorted(running)
    return [getattr(bot, "shard_id", None) or 0]


def _read_guilds(bot: Any, known: Mapping[int, _KnownGuild]) -> dict[int, _KnownGuild]:
    """What is known of each guild now: of one that an outage hides, what was known before."""
    guilds = {}
    for guild in list(bot.guilds):
        before = known.get(guild.id)
        users = _to_number(getattr(guild, "member_count", None))
        if before is not None and (users is None or getattr(guild, "unavailable", False)):
            users = before.users
        guilds[guild.id] = _KnownGuild(_to_number(getattr(guild, "shard_id", None)), users or 0)
    return guilds


def _add_up(bot: Any, guilds: Iterable[_KnownGuild]) -> ShardNumbers:
    ids = _list_shard_ids(bot)
    by_id: dict[int, ShardsBodyShard] = {id: {"id": id, "servers": 0, "users": 0} for id in ids}
    for shard_id, users in guilds:
        numbers = by_id.get(ids[0] if shard_id is None else shard_id)
        if numbers is not None:
            numbers["servers"] += 1
            numbers["users"] += users
    return ShardNumbers(_to_number(getattr(bot, "shard_count", None)) or max(ids) + 1, list(by_id.values()))


def read_shards(client: Any) -> ShardNumbers:
    """Reads the numbers of the shards that this process runs from the client of a library."""
    return _add_up(client, _read_guilds(client, {}).values())


def _is_ready(client: Any) -> bool:
    is_ready = getattr(client, "is_ready", None)
    return bool(is_ready()) if callable(is_ready) else True


class _Sender:
    """Posts the numbers of a client, or those that a function returns."""

    def __init__(
        self, directory: Client, client: Any, stats: Callable[[], StatsBody] | None, cluster: str | None
    ):
        self._directory = directory
        self._client = client
        self._stats = stats
        self._cluster = cluster
        self._known: dict[int, _KnownGuild] = {}

    def _post_stats(self, body: StatsBody, stopped: Event) -> None:
        self._directory.request("POST", "/bots/stats", body=body, stopped=stopped)

    def _post_shards(self, shard_count: int, shards: Sequence[ShardsBodyShard], stopped: Event) -> None:
        for start in range(0, len(shards), SHARDS_PER_POST_MAX):
            some = shards[start : start + SHARDS_PER_POST_MAX]
            body: ShardsBody = {"shard_count": shard_count, "shards": some}
            if self._cluster is not None:
                body["cluster"] = self._cluster
            self._directory.request("POST", "/bots/stats/shards", body=body, stopped=stopped)

    def send(self, stopped: Event) -> int:
        """Posts the numbers as they are; returns the number of servers."""
        if self._stats is not None:
            stats: StatsBody = {"status": "online", **self._stats()}
            self._post_stats(stats, stopped)
            return stats.get("servers", 0)
        self._known = _read_guilds(self._client, self._known)
        shard_count, shards = _add_up(self._client, self._known.values())
        servers = sum(shard["servers"] for shard in shards)
        users = sum(shard["users"] for shard in shards)
        if shard_count == 1:
            self._post_stats({"servers": servers, "users": users, "shards": 1, "status": "online"}, stopped)
        else:
            self._post_shards(shard_count, [{**shard, "status": "online"} for shard in shards], stopped)
        return servers

    def send_offline(self, stopped: Event) -> None:
        """Posts that the bot is offline; its numbers stay."""
        shard_count, shards = (1, []) if self._stats is not None else read_shards(self._client)
        if shard_count == 1:
            self._post_stats({"status": "offline"}, stopped)
        else:
            self._post_shards(
                shard_count, [{"id": shard["id"], "status": "offline"} for shard in shards], stopped
            )

    def has_moved(self, posted: int) -> bool:
        """Whether the number of servers has moved by more than 1 % since the last post."""
        return self._stats is None and abs(len(self._client.guilds) - posted) > posted / 100


def _create_reporter() -> Callable[[Exception], None]:
    """One line an hour at most."""
    due = monotonic()

    def report(error: Exception) -> None:
        nonlocal due
        if monotonic() >= due:
            due = monotonic() + REPORT_SECONDS
            logging.getLogger("rollcall_client").warning("The directory did not accept the numbers: %s", error)

    return report


class Autoposter:
    """Posts in a thread of its own, which keeps no process alive. Made by `autopost`."""

    def __init__(self, sender: _Sender, every: float, on_error: Callable[[Exception], None], client: Any):
        self._sender = sender
        self._every = every
        self._on_error = on_error
        self._client = client
        self._stopped = Event()
        self._stopping = Lock()
        self._posted: int | None = None
        self._has_begun = False
        self._failures = 0
        self._due = 0.0
        Thread(target=self._run, name="rollcall-autopost", daemon=True).start()

    def post(self) -> None:
        """Posts now. Raises when the post fails."""
        self._has_begun = True
        self._posted = self._sender.send(self._stopped)
        self._failures = 0
        self._due = monotonic() + self._every * random.uniform(0.9, 1.1)

    def stop(self) -> None:
        """Ends it within two seconds, with a last post that says `offline`; the numbers stay."""
        with self._stopping:
            if self._stopped.is_set():
                return
            # A post in progress is given up: it may wait for minutes, and may have reached the directory.
            self._stopped.set()
        if not self._has_begun:
            return
        late = Event()
        last = Thread(target=self._say_offline, args=(late,), name="rollcall-offline", daemon=True)
        last.start()
        last.join(STOP_SECONDS_MAX)
        late.set()

    def _say_offline(self, late: Event) -> None:
        try:
            self._sender.send_offline(late)
        except Stopped:
            pass
        except Exception as error:
            self._on_error(error)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._check()
            self._stopped.wait(min(CHECK_SECONDS, self._every))

    def _check(self) -> None:
        try:
            if not _is_ready(self._client):
                return
            has_moved = self._failures == 0 and self._posted is not None and self._sender.has_moved(self._posted)
            if has_moved or monotonic() >= self._due:
                self.post()
        except Stopped:
            pass
        except Exception as error:
            if self._stopped.is_set():
                return
            self._failures += 1
            named = error.retry_after if isinstance(error, DirectoryError) else 0.0
            self._due = monotonic() + max(named, compute_backoff(self._failures, BACKOFF_SECONDS_MAX))
            self._on_error(error)


def autopost(
    url: str,
    token: str,
    client: Any = None,
    *,
    stats: Callable[[], StatsBody] | None = None,
    cluster: str | None = None,
    every: float = EVERY_SECONDS,
    on_error: Callable[[Exception], None] | None = None,
) -> Autoposter:
    """Posts the numbers of a bot every five minutes, and soon after they have moved by more than 1 %, from
    when the bot is ready until `stop`.

    `client` is the client of discord.py or of a fork; `stats` returns the numbers of the whole bot instead,
    and is called in another thread. `cluster` is the name of this process, up to 64 of `A-Z a-z 0-9 _ . -`;
    `GET /bots/{id}/shards` shows it. `every` is the time between two posts in seconds, ± 10 %. `on_error` gets
    every failure, in another thread; without it one line an hour goes to the log.

    >>> poster = autopost(url, token, client)  # in every process of the bot
    """
    if client is None and stats is None:
        raise TypeError("autopost needs `client` or `stats`")
    refuse_booleans({"every": every})
    sender = _Sender(Client(url, token), client, stats, cluster)
    return Autoposter(sender, every, on_error or _create_reporter(), client)
