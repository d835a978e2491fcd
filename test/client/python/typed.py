"""A program of a user, for the type checker: each comment expects exactly the error that it names."""

import asyncio

from rollcall_client import Client, ReceivedEvent, VoteStatus, autopost, follow, receive, votes

directory = Client("http://127.0.0.1:9", "rc_bot_1_x")
status: VoteStatus = directory.check_vote(1, "2")
hours: int = status["wait"]["hours"]
directory.post_stats({"servers": 1, "status": "idle"})
directory.post_stats({"servers": "many"})  # type: ignore[typeddict-item]
directory.post_stats({"guilds": 1})  # type: ignore[typeddict-unknown-key]
directory.post_shards({"shards": []})  # type: ignore[typeddict-item]
autopost("", "", object(), stats=lambda: {"users": 3})


async def read() -> None:
    async for page in votes(directory, "bot/1"):
        authors: list[str] = [vote["author"] for vote in page.votes]
        print(authors, page.cursor)
    for message in follow("", ["bot/1"]):
        print(message.event)


def reward(event: ReceivedEvent) -> str:
    return event["data"]["user"]["id"] if event["type"] == "vote.created" else ""


reward(receive({}, b"", "whsec_"))
asyncio.run(read())
