"""Follows entities live: their totals as they change and their votes as they come, over one connection that
is opened again whenever it breaks."""

from __future__ import annotations

import json
from http.client import HTTPException
from threading import Event
from typing import Any, Iterator, Mapping, NamedTuple, Sequence
from urllib.request import Request

from ._request import (
    DirectoryError,
    check_url,
    compute_pause,
    is_worth_retrying,
    open_request,
    to_address,
    to_unreachable,
)
from ._stream import Stream

BACKOFF_SECONDS_MAX = 60.0
# The server sends something at least this often, else the connection is dead.
SILENCE_SECONDS_MAX = 60.0


class FollowMessage(NamedTuple):
    """What happened: `totals`, `vote`, `gap`, `reset` or `gone`; ignore events that you do not know.

    Keep `id`, and send it as `last_event_id` after a restart.
    """

    event: str
    data: Mapping[str, Any]
    id: str


def follow(
    url: str, targets: Sequence[str], *, channels: Sequence[str] = ("totals",), last_event_id: str = ""
) -> Stream[FollowMessage]:
    """Yields what happens to up to 100 entities, as `bot/815553000470478850`, for `for` or `async for`.

    `channels` are `totals`, `votes` or both. It connects again after every break, and then misses no vote; it
    raises a `DirectoryError` for what waiting does not change.

    >>> for message in follow(url, [f"bot/{bot_id}"]):
    ...     if message.event == "totals":
    ...         show(message.data["totals"])
    """
    check_url(url)
    query = {"targets": ",".join(targets), "channels": ",".join(channels)}
    return Stream(lambda stopped: _read(url, query, last_event_id, stopped))


def _read(url: str, query: Mapping[str, str], last: str, stopped: Event) -> Iterator[FollowMessage]:
    failures = 0
    while not stopped.is_set():
        named = 0.0
        address = to_address(url, "/feed", {**query, "last_event_id": last or None})
        try:
            for event, data, id in _read_connection(address, stopped):
                failures = 0
                last = id or last
                if event == "bye":
                    named = data["reconnect_after_ms"] / 1000
                elif event != "hello":
                    yield FollowMessage(event, data, last)
        except DirectoryError as error:
            if not is_worth_retrying(error, True):
                raise
            named = error.retry_after
        failures += 1
        stopped.wait(compute_pause(named, failures, BACKOFF_SECONDS_MAX))


def _read_connection(address: str, stopped: Event) -> Iterator[FollowMessage]:
    """Yields the messages of one connection. Raises `DirectoryError`, also when the connection breaks."""
    fields: dict[str, str] = {}
    with open_request(Request(address, headers={"Accept": "text/event-stream"}), SILENCE_SECONDS_MAX) as reply:
        while not stopped.is_set():
            try:
                line = reply.readline().decode()
            except (OSError, HTTPException, ValueError) as error:
                raise to_unreachable(error) from error
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif line == "":
                return
            else:
                if "data" in fields:
                    yield FollowMessage(fields.get("event", "message"), json.loads(fields["data"]), fields.get("id", ""))
                fields.clear()
