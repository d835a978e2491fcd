"""Runs the examples of the README one after the other, in one program, as a reader would put them together."""

import asyncio
import json
import os
import re
import sys

import discord
from support import become_ready, build_bot

world = json.loads(os.environ["WORLD"])
webhook = world["webhook"]
names = {
    "url": world["url"],
    "token": world["tokens"]["bot1"],
    "user_id": "ann",
    "bot_id": "bot1",
    "client": build_bot([0, 1], 2),
    "kept": "oldest",
    "keep": lambda cursor: None,
    "secret": webhook["secret"],
    "headers": webhook["headers"],
    "body": webhook["body"].encode(),
}
with open(sys.argv[1], encoding="utf-8") as readme:
    for code in re.findall(r"```py\n(.*?)```", readme.read(), re.DOTALL):
        exec(compile(code, "README.md", "exec"), names)


async def live() -> None:
    """The bot of the first example, without a login: it posts while it runs, and says when it ends."""
    names["token"] = world["tokens"]["bot9"]
    bot = names["Bot"](intents=discord.Intents.default(), shard_count=2, shard_ids=[0, 1])
    directory = names["Client"](world["url"])
    async with names["Bot"](intents=discord.Intents.default()):
        pass  # its login failed, so nothing was set up
    async with bot:
        become_ready(bot)
        await bot.setup_hook()
        while (await asyncio.to_thread(directory.request, "GET", "/bots/bot9"))["servers"] != 2:
            await asyncio.sleep(0.05)
    shards = directory.request("GET", "/bots/bot9/shards")["shards"]
    print([shard["status"] for shard in shards])


asyncio.run(live())
