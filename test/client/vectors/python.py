"""Answers the cases of docs/vectors.json with the client for Python: one line in, one line out."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.request import Request

from rollcall_client import SignatureError, receive, votes
from rollcall_client._request import (
    WAIT_SECONDS_MAX,
    DirectoryError,
    Stopped,
    is_repeatable,
    is_worth_retrying,
    open_request,
)


def answer_webhook(case: dict[str, Any]) -> dict[str, Any]:
    try:
        event = receive(
            case["headers"],
            case["body"],
            case["secrets"],
            tolerance=case["tolerance_seconds"],
            now=case["now_seconds"],
        )
    except (SignatureError, ValueError):
        return {"accepted": False}
    return {"accepted": True, "id": event["id"], "type": event["type"]}


canned: dict[str, Any] | None = None


class Server(BaseHTTPRequestHandler):
    """Answers with the reply of the case; closes the connection if it has none."""

    def do_GET(self) -> None:
        if canned is None:
            self.close_connection = True
            return
        body = canned["body"].encode()
        self.send_response(canned["status"])
        for name, value in canned["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *given: Any) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
Thread(target=server.serve_forever, daemon=True).start()


def fail(reply: dict[str, Any] | None) -> DirectoryError:
    global canned
    canned = reply
    try:
        open_request(Request(f"http://127.0.0.1:{server.server_port}/"), 10)
    except DirectoryError as error:
        return error
    raise AssertionError("the request did not fail")


def answer_failure(case: dict[str, Any]) -> dict[str, Any]:
    error = fail(case["reply"])
    request = case["request"]
    repeatable = request["keyed"] or is_repeatable(request["method"], request["path"])
    repeat = is_worth_retrying(error, repeatable) and error.retry_after <= WAIT_SECONDS_MAX
    wait = int(error.retry_after) if error.retry_after == int(error.retry_after) else error.retry_after
    return {"repeat": repeat, "code": error.code, "wait_seconds": wait}


class Replies:
    """A client that has these replies."""

    def __init__(self, replies: list[dict[str, Any]]):
        self.rest = list(replies)
        self.requested: list[str] = []

    def request(self, _method: str, _path: str, *, query: dict[str, Any] | None = None, **_: Any) -> Any:
        if not self.rest:
            raise Stopped
        reply = self.rest.pop(0)
        self.requested.append((query or {}).get("after", ""))
        if reply["status"] != 200:
            raise fail({"status": reply["status"], "headers": {}, "body": json.dumps(reply["body"])})
        return reply["body"]


def answer_log(case: dict[str, Any]) -> dict[str, Any]:
    client = Replies(case["replies"])
    pages = [
        {
            "votes": [vote["number"] for vote in page.votes],
            "cursor": page.cursor,
            "restarted": page.restarted,
        }
        for page in votes(client, "bot/1", after=case["after"])  # type: ignore[arg-type]
    ]
    return {"pages": pages, "requested": client.requested}


answers = {"webhook": answer_webhook, "failure": answer_failure, "log": answer_log}

for line in sys.stdin:
    case = json.loads(line)
    print(json.dumps(answers[case["kind"]](case["input"])), flush=True)
