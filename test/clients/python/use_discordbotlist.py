"""Posts with discordbotlist-py and a client of discord.py, and prints the error of a wrong token."""

import asyncio
import os
from types import SimpleNamespace

import discord
from discordbotlist import DblClient


async def main():
    intents = discord.Intents.default()
    intents.members = True
    client = discord.Client(intents=intents)
    client._connection.user = SimpleNamespace(id=int(os.environ["id"]))
    for number in range(1, 4):
        client._connection._add_guild_from_data({"id": str(number << 22), "name": "guild", "member_count": 10})
    await DblClient(os.environ["token"], client).post_status()
    try:
        await DblClient("wrong", client).post_status()
    except RuntimeError as error:
        print('"' + str(error).split(" - ")[0] + '"')


asyncio.run(main())
