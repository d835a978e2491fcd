"""Posts, checks a vote and lists votes with topggpy, and prints what came back as JSON."""

import asyncio
import json
import os
from types import SimpleNamespace

import topgg


class Bot:
    """What topggpy uses of a client of discord.py."""

    def __init__(self, loop):
        self.loop = loop
        self.guilds = [SimpleNamespace()] * 3
        self.user = SimpleNamespace(id=int(os.environ["id"]))

    async def wait_until_ready(self):
        pass


async def main():
    bot = Bot(asyncio.get_running_loop())
    client = topgg.DBLClient(bot, os.environ["token"])
    await client.post_guild_count(shard_count=2, shard_id=1)
    await client.post_guild_count(guild_count=4, shard_count=2, shard_id=0)
    stats = await client.get_guild_count()
    voted = [await client.get_user_vote(int(os.environ[name])) for name in ("ann", "ben")]
    votes = await client.get_bot_votes()
    weekend = await client.get_weekend_status()
    await client.close()
    wrong = topgg.DBLClient(bot, "wrong")
    try:
        await wrong.post_guild_count()
    except topgg.Unauthorized as error:
        text = error.text
    await wrong.close()
    print(json.dumps([stats, voted, votes, type(weekend).__name__, text]))


asyncio.run(main())
