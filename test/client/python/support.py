"""What the tests of the Python client share: real clients of discord.py, never logged in, and a server that
gives the answers of a list."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import discord


def build_bot(ids, count, servers=3):
    """A client of discord.py that runs these shards, with three guilds of ten members on each."""
    bot = discord.AutoShardedClient(intents=discord.Intents.default(), shard_count=count, shard_ids=ids)
    become_ready(bot, servers)
    return bot


def become_ready(bot, servers=1):
    """Does what the gateway does when it has told everything."""
    bot._connection.shard_count = bot.shard_count
    bot._ready = asyncio.Event()
    bot._ready.set()
    for shard in bot.shard_ids:
        for number in range(servers):
            add_guild(bot, shard + bot.shard_count * number, member_count=10)


def add_guild(bot, number, **fields):
    """Adds a guild as the gateway does. The 22 lowest bits of an id do not decide its shard."""
    return bot._connection._add_guild_from_data({"id": str(number << 22), "name": "guild", **fields})


class ScriptedServer(ThreadingHTTPServer):
    """`answers` are dictionaries, `trickle` in one never ends; `None` closes the connection, `"silent"` keeps it open."""

    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answers = []
        self.requests = []
        self.arrived = threading.Event()
        self.ended = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def begin(self, answers):
        self.answers = list(answers)
        self.requests = []
        self.arrived.clear()

    def stop(self):
        self.ended.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((f"{self.command} {self.path}", body.decode(), self.headers))
        self.server.arrived.set()
        given = self.server.answers.pop(0) if self.server.answers else {"status": 200}
        self.close_connection = True
        if given == "silent":
            self.server.ended.wait()
        elif given is not None:
            self.send_response(given["status"])
            for name, value in given.get("headers", {}).items():
                self.send_header(name, value)
            self.end_headers()
            reply = {"message": "As listed.", "context": given.get("context", {})}
            self.wfile.write(given.get("text", json.dumps(reply)).encode())
            # One byte more, again and again, for as long as a client reads.
            try:
                while given.get("trickle") and not self.server.ended.wait(0.1):
                    self.wfile.write(b" ")
            except OSError:
                pass  # it reads no more

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass
