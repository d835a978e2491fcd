"""Sends requests to a directory: builds them, waits and repeats where that helps, and turns every failure
into one kind of error. Standard library only; every call blocks the thread that makes it."""

from __future__ import annotations

import json
import random
import re
from http.client import HTTPException, HTTPResponse
from threading import TIMEOUT_MAX, Event
from time import monotonic
from typing import Any, Callable, Mapping, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ._types import ApiResponse, ShardsBody, StatsBody, VoteStatus

TIMEOUT_SECONDS = 15.0
# A longer `Retry-After` is left to the caller.
WAIT_SECONDS_MAX = 60.0

# What the directory sends besides JSON; a page is the answer of something in between.
TEXT_TYPES = "csv|svg|markdown"


class DirectoryError(Exception):
    """A request that failed. `status` is 0 when there was no reply.

    `code` is for programs: `vote_wait`, `token_invalid` …; `unreachable` when there was no reply.
    `retry_after` is how long to wait before the next attempt, in seconds, 0 when the server named no time.
    """

    def __init__(self, status: int, message: str, context: Mapping[str, str], retry_after: float = 0.0):
        super().__init__(message)
        self.status = status
        self.context = context
        self.code = context.get("code", f"status_{status}")
        self.retry_after = retry_after


class Stopped(Exception):
    """The work was stopped; nothing has failed."""


class _Redirects(HTTPRedirectHandler):
    """Follows reads only: urllib would follow a post with a GET, whose reply says nothing about the post."""

    def redirect_request(self, req: Request, *given: Any) -> Request | None:
        return super().redirect_request(req, *given) if req.get_method() == "GET" else None


_open = build_opener(_Redirects).open


def _parse_retry_after(text: str | None) -> float:
    """Proxies send dates and odd numbers, too: those name no time."""
    return float(text) if text is not None and re.fullmatch(r"\d+(\.\d+)?", text.strip()) else 0.0


def _read_all(reply: HTTPResponse, timeout: float) -> bytes:
    """Reads a reply within this time and one wait more; `read` alone goes on as long as some bytes come."""
    ends = monotonic() + timeout
    parts = []
    while reply.length != 0 and (waiting := reply.peek()):
        parts.append(reply.read(len(waiting)))
        if monotonic() > ends:
            raise TimeoutError(f"not complete within {timeout} s")
    # Raises if the connection has ended before the reply.
    return b"".join([*parts, reply.read()])


def _to_error(error: HTTPError, timeout: float) -> DirectoryError:
    """The error that a reply states."""
    location = error.headers.get("Location")
    if error.code // 100 == 3:
        message = f"the directory redirects to {location or 'another address'}: name that one as `url`"
        return DirectoryError(error.code, message, {"code": "redirected"})
    seconds = _parse_retry_after(error.headers.get("Retry-After"))
    try:
        reply = json.loads(_read_all(cast(HTTPResponse, error.fp), timeout))
        return DirectoryError(error.code, reply["message"], dict(reply["context"]), seconds)
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        # A proxy answered: its text is not ours.
        return DirectoryError(error.code, f"status {error.code}", {}, seconds)


def open_request(request: Request, timeout: float) -> HTTPResponse:
    """Sends a request once. Raises `DirectoryError` for every failure but a lost connection while reading."""
    try:
        return cast(HTTPResponse, _open(request, timeout=timeout))
    except HTTPError as error:
        with error:
            raise _to_error(error, timeout) from None
    except (OSError, HTTPException) as error:
        raise to_unreachable(error) from error


def to_unreachable(error: Exception) -> DirectoryError:
    reason = error.reason if isinstance(error, URLError) else error
    text = str(reason) or type(reason).__name__
    return DirectoryError(0, f"no reply: {text}", {"code": "unreachable"})


def is_repeatable(method: str, path: str) -> bool:
    """Reads, posts of numbers and votes have the same effect when they are sent twice."""
    is_vote = method == "PUT" and path.endswith("/votes")
    return method == "GET" or path.startswith("/bots/stats") or is_vote


def is_worth_retrying(error: DirectoryError, repeatable: bool) -> bool:
    """Whether sending it again can help: not in a wait between votes, which lasts for hours."""
    if error.status == 429:
        return error.code not in ("vote_wait", "application_wait")
    if error.status == 503 and error.context.get("outcome") == "not_applied":
        return True
    # There was no reply, or a proxy said that it cannot reach the server; Cloudflare does so by 520 to 530.
    is_lost = error.status == 0 or 502 <= error.status <= 504 or 520 <= error.status <= 530
    return repeatable and is_lost


def compute_backoff(failures: int, seconds_max: float) -> float:
    """1 s, 2 s, 4 s … with a little chance, so that many clients do not return at once."""
    return min(seconds_max, 2.0 ** min(failures - 1, 30)) * random.uniform(0.8, 1.2)


def compute_pause(named: float, failures: int, seconds_max: float) -> float:
    """The wait after an error: what the server named and up to a quarter more, else a backoff."""
    if named > 0:
        # Python refuses to wait longer, by an OverflowError.
        return min(named * random.uniform(1.0, 1.25), TIMEOUT_MAX)
    return compute_backoff(failures, seconds_max)


def check_url(url: str) -> None:
    """Without a scheme every attempt would fail as if there were no network."""
    if not re.match("https?://", url, re.IGNORECASE):
        raise ValueError(f"The url must begin with http:// or https://: {url}")


def refuse_booleans(given: object, name: str = "") -> None:
    """A boolean is no number, though Python counts it as 0 or 1."""
    if isinstance(given, bool):
        raise TypeError(f"{name} must be a number")
    items = given.items() if isinstance(given, Mapping) else enumerate(given) if isinstance(given, (list, tuple)) else ()
    for key, value in items:
        refuse_booleans(value, str(key))


def _to_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_address(url: str, path: str, query: Mapping[str, object] | None = None) -> str:
    given = urlencode({name: _to_text(value) for name, value in (query or {}).items() if value is not None})
    return f"{url.rstrip('/')}{path}{'?' if given else ''}{given}"


class Client:
    """A client of one directory, for one token. Its methods may be called from several threads at once.

    >>> directory = Client(url, token)
    >>> directory.post_stats({"servers": 1234, "status": "online"})
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        attempts_max: int = 5,
        on_hints: Callable[[list[str], str], None] | None = None,
    ):
        """`on_hints` gets what an edit says of a listing that it saved as sent, as `["long_cut"]`, and the path."""
        check_url(url)
        refuse_booleans({"attempts_max": attempts_max})
        # Without this the standard library refuses some of it, with a message that shows it.
        token = token.strip(" \t\r\n") if token is not None else None
        if token is not None and not re.fullmatch(r"[!-~]*", token):
            raise ValueError("The token has a blank, a line break or another character that no token has.")
        self._url = url
        self._token = token
        self._attempts_max = attempts_max
        self._on_hints = on_hints

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT_SECONDS,
        idempotency_key: str | None = None,
        stopped: Event | None = None,
    ) -> Any:
        """Sends a request and returns the JSON of the reply, `None` when it has none; of CSV, badges and guides
        their text.

        Raises `DirectoryError`. It waits and repeats after 429 and 503, and after a lost connection when
        repeating does no harm: `idempotency_key` makes a creation one of these. `timeout` bounds each wait for
        the network, in seconds, and the body of a reply as a whole; it does not bound the attempts together.
        It sends nothing once `stopped` is set.
        """
        refuse_booleans({"timeout": timeout, **((body or {}) if path.startswith("/bots/stats") else {})})
        # A server may drop other characters at the ends: two keys would become one.
        if idempotency_key is not None and not re.fullmatch(r"[!-~]([ -~]*[!-~])?", idempotency_key):
            raise ValueError("The idempotency key must be ASCII, without blanks at its ends.")
        repeatable = idempotency_key is not None or is_repeatable(method, path)
        stopped = stopped or Event()
        attempt = 1
        while not stopped.is_set():
            # A new one for each attempt: urllib changes it for a proxy.
            request = self._build(method, to_address(self._url, path, query), body)
            if idempotency_key is not None:
                request.add_header("Idempotency-Key", idempotency_key)
            try:
                reply, hints = self._send(request, timeout)
            except DirectoryError as error:
                is_last = attempt >= self._attempts_max or error.retry_after > WAIT_SECONDS_MAX
                if is_last or not is_worth_retrying(error, repeatable):
                    raise
                stopped.wait(compute_pause(error.retry_after, attempt, WAIT_SECONDS_MAX))
            else:
                if hints and self._on_hints is not None:
                    self._on_hints(hints.replace(" ", "").split(","), path)
                return reply
            attempt += 1
        raise Stopped

    def _build(self, method: str, address: str, body: Mapping[str, Any] | None) -> Request:
        data = None if body is None else json.dumps(body).encode()
        request = Request(address, data, method=method)
        if body is not None:
            request.add_header("Content-Type", "application/json")
        if self._token is not None:
            # "Unredirected": the token must not follow to another server.
            request.add_unredirected_header("Authorization", self._token)
        return request

    def _send(self, request: Request, timeout: float) -> tuple[Any, str | None]:
        with open_request(request, timeout) as reply:
            try:
                text = _read_all(reply, timeout)
                hints = reply.headers.get("X-Listing-Hints")
                if re.search(TEXT_TYPES, reply.headers.get("Content-Type", "")):
                    return text.decode(), hints
                return json.loads(text) if text else None, hints
            # A `ValueError` is a text that is no JSON: something in between answered.
            except (OSError, HTTPException, ValueError) as error:
                raise to_unreachable(error) from error

    def post_stats(self, stats: StatsBody) -> ApiResponse:
        """Records numbers of the bot whose token this is."""
        return cast(ApiResponse, self.request("POST", "/bots/stats", body=stats))

    def post_shards(self, shards: ShardsBody) -> ApiResponse:
        """Records numbers of some shards of the bot whose token this is."""
        return cast(ApiResponse, self.request("POST", "/bots/stats/shards", body=shards))

    def check_vote(self, user_id: int | str, bot_id: int | str) -> VoteStatus:
        """Whether a user has voted for a bot within the wait, and how long the wait still is. Needs no token."""
        path = f"/users/{quote(str(user_id), safe='')}/bots/{quote(str(bot_id), safe='')}/votes"
        return cast(VoteStatus, self.request("GET", path))
