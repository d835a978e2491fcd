"""Reads the vote log of a listing: every vote once, in order, as it comes, without a public address."""

from __future__ import annotations

from threading import Event
from time import monotonic
from typing import Iterator, NamedTuple, Sequence, cast

from ._request import Client, DirectoryError, Stopped, compute_pause, is_worth_retrying
from ._stream import Stream
from ._types import VoteLog, VoteLogResult

WAIT_SECONDS = 25
PAGE_MAX = 100
BACKOFF_SECONDS_MAX = 60.0
# A reply without votes that comes sooner did not wait.
EMPTY_REPLY_SECONDS_MIN = 1.0


class VotePage(NamedTuple):
    """Some votes, oldest first.

    Keep `cursor` when you have handled them, and begin with it after a restart. `restarted` says that the
    log began again, with its oldest vote: recognise votes that you know by their `itag`.
    """

    votes: Sequence[VoteLogResult]
    cursor: str
    restarted: bool


def group_by_request(votes: Sequence[VoteLogResult]) -> list[list[VoteLogResult]]:
    """The votes of each request to vote, one or several: those of one user at one time."""
    groups: dict[tuple[str, str], list[VoteLogResult]] = {}
    for vote in votes:
        groups.setdefault((vote["created_at"], vote["author"]), []).append(vote)
    return list(groups.values())


def votes(
    directory: Client, target: str, *, after: str = "head", voter: bool = False
) -> Stream[VotePage]:
    """Yields pages of votes as they come, for `for` or `async for`; those of one request are in one page.

    `target` is `bot/815553000470478850`. `after` says where to begin: a cursor that you kept, `oldest`, or
    `head` (only new votes); with `voter` each vote says what its author had done by then. It waits out failures of the network and the server; it raises a `DirectoryError`
    for what waiting does not change.

    >>> for page in votes(directory, f"bot/{bot_id}", after=kept):
    ...     for vote in page.votes:
    ...         reward(vote["author"])
    ...     keep(page.cursor)
    """
    return Stream(lambda stopped: _read(directory, f"/{target}/votes/log", after, voter, stopped))


def _read_page(
    directory: Client, path: str, after: str, voter: bool, stopped: Event
) -> tuple[list[VoteLogResult], str]:
    """Reads a page, and what the next one has of its last request."""

    def read(query: dict[str, str | int]) -> VoteLog:
        if voter:
            query = {**query, "voter": 1}
        page = directory.request("GET", path, query=query, timeout=WAIT_SECONDS + 15, stopped=stopped)
        return cast(VoteLog, page)

    page = read({"after": after, "wait": WAIT_SECONDS, "limit": PAGE_MAX})
    results = list(page["results"])
    while len(results) >= PAGE_MAX:
        more = read({"after": page["next"], "limit": 1})
        if not more["results"] or len(group_by_request([results[-1], *more["results"]])) > 1:
            break
        results.extend(more["results"])
        page = more
    return results, page["next"]


def _read(
    directory: Client, path: str, after: str, voter: bool, stopped: Event
) -> Iterator[VotePage]:
    cursor = "" if after in ("head", "oldest") else after
    failures = 0
    restarted = False
    while not stopped.is_set():
        try:
            if cursor == "":
                start = directory.request("GET", path, stopped=stopped)
                cursor = cast(str, start[after])
            began = monotonic()
            results, end = _read_page(directory, path, cursor, voter, stopped)
        except Stopped:
            return
        except DirectoryError as error:
            if error.code == "log_restarted":
                cursor = error.context.get("oldest", "")
                restarted = True
                continue
            if not is_worth_retrying(error, True):
                raise
            failures += 1
            stopped.wait(compute_pause(error.retry_after, failures, BACKOFF_SECONDS_MAX))
            continue
        cursor = end
        if results:
            failures = 0
            yield VotePage(results, cursor, restarted)
            restarted = False
            continue
        # A node that stops answers at once: all its clients would come back at once.
        failures = failures + 1 if monotonic() - began < EMPTY_REPLY_SECONDS_MIN else 0
        if failures > 0:
            stopped.wait(compute_pause(0, failures, BACKOFF_SECONDS_MAX))
