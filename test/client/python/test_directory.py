"""The Python client against a complete Rollcall: posts, votes, the feed, webhooks, shards of several processes."""

import asyncio
import json
import os
import threading
import time
import unittest
from types import SimpleNamespace

from rollcall_client import (
    Client,
    DirectoryError,
    SignatureError,
    autopost,
    follow,
    read_shards,
    receive,
    votes,
)
from support import add_guild, build_bot

world = json.loads(os.environ["WORLD"])
url, tokens = world["url"], world["tokens"]


def vote(user, bot):
    Client(url, tokens[user]).request("PUT", f"/users/{user}/bots/{bot}/votes", query={"upvote": "true"})


def read(bot):
    return Client(url).request("GET", f"/bots/{bot}")


class Requests(unittest.TestCase):
    def test_posts_stats_and_checks_a_vote(self):
        directory = Client(f"{url}/", tokens["bot1"])
        vote("ann", "bot1")

        self.assertEqual(directory.post_stats({"servers": 7})["message"], "Stats recorded.")
        self.assertEqual(read("bot1")["servers"], 7)
        self.assertTrue(directory.check_vote("ann", "bot1")["has_voted"])
        self.assertFalse(directory.check_vote("ben", "bot1")["has_voted"])

    def test_posts_shards(self):
        Client(url, tokens["bot5"]).post_shards({"shard_count": 1, "shards": [{"id": 0, "servers": 4}]})

        self.assertEqual(read("bot5")["servers"], 4)

    def test_a_boolean_is_no_number(self):
        directory = Client(url, tokens["bot1"])
        wrong = {
            "servers": lambda: directory.post_stats({"servers": True}),
            "1": lambda: directory.post_stats({"shard_list": (1, False)}),
            "id": lambda: directory.post_shards({"shard_count": 2, "shards": [{"id": True, "servers": 1}]}),
            "timeout": lambda: directory.request("GET", "/bots/bot1", timeout=True),
            "attempts_max": lambda: Client(url, attempts_max=True),
            "every": lambda: autopost(url, "", stats=dict, every=True),
            "tolerance": lambda: receive({}, b"", "", tolerance=True),
        }
        for name, use in wrong.items():
            with self.assertRaisesRegex(TypeError, f"^{name} must be a number"):
                use()
        odd = SimpleNamespace(id=1, member_count=True, shard_id=True)
        bot = SimpleNamespace(guilds=[odd], shards=[0, 1], shard_count=True)
        self.assertEqual(read_shards(bot), (2, [{"id": 0, "servers": 1, "users": 0}, {"id": 1, "servers": 0, "users": 0}]))

    def test_a_boolean_of_a_query_is_one_of_the_directory(self):
        directory = Client(url, tokens["ben"])
        directory.request("PUT", "/users/ben/bots/bot6/votes", query={"upvote": True})
        self.assertTrue(directory.check_vote("ben", "bot6")["has_voted"])

    def test_csv_badges_and_guides_come_as_their_text(self):
        directory = Client(url, attempts_max=1)
        query = {"metrics": "clicks", "step": "1d", "format": "csv"}
        self.assertTrue(directory.request("GET", "/bots/bot1/history", query=query).startswith("time,clicks\r\n"))
        self.assertTrue(directory.request("GET", "/badges/bots/bot1/servers.svg").startswith("<svg "))
        self.assertTrue(directory.request("GET", "/docs/client.md").startswith("# rollcall-client\n"))

    def test_on_hints_gets_what_an_edit_says_of_the_listing_that_it_saved(self):
        heard = []
        directory = Client(url, tokens["robin"], on_hints=lambda *given: heard.append(given))
        for long in ["[a](b) " * 100, "[a][" * 9_000]:
            body = {"long": long, "short": "A short text of a usual length, for a bot."}
            directory.request("PATCH", "/bots/bot6/settings", body=body)

        self.assertEqual(heard, [(["long_cut"], "/bots/bot6/settings")])

    def test_an_error_has_the_status_the_code_and_the_context_of_the_reply(self):
        with self.assertRaises(DirectoryError) as raised:
            Client(url, "rc_bot_1_wrong").post_stats({"servers": 1})

        self.assertEqual((raised.exception.status, raised.exception.code), (401, "token_invalid"))
        self.assertTrue(raised.exception.context["request_id"])


class Votes(unittest.TestCase):
    def test_every_vote_comes_once_and_a_kept_cursor_goes_on(self):
        directory = Client(url)
        vote("ann", "bot2")
        first = next(iter(votes(directory, "bot/bot2", after="oldest")))
        later = threading.Timer(0.1, vote, ("ben", "bot2"))
        later.start()
        second = next(iter(votes(directory, "bot/bot2", after=first.cursor)))
        later.join()
        again = next(iter(votes(directory, "bot/bot2", after="0-zz.1")))

        authors = [[each["author"] for each in page.votes] for page in (first, second)]
        self.assertEqual(authors, [["ann"], ["ben"]])
        # A cursor of a log that no longer exists: it goes on with the oldest vote.
        self.assertEqual((again.restarted, len(again.votes)), (True, 2))

    def test_in_an_event_loop_others_go_on_and_nothing_is_lost_by_a_time_limit(self):
        async def run():
            pages = votes(Client(url), "bot/bot3")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(pages.__anext__(), 0.3)
            await asyncio.to_thread(vote, "ann", "bot3")
            async for page in pages:
                return [each["author"] for each in page.votes]

        self.assertEqual(asyncio.run(run()), ["ann"])

    def test_what_waiting_does_not_change_is_raised(self):
        async def run():
            async for _ in votes(Client(url), "bot/none"):
                self.fail("there is no such bot")

        for read_once in (lambda: next(iter(votes(Client(url), "bot/none"))), lambda: asyncio.run(run())):
            with self.assertRaises(DirectoryError) as raised:
                read_once()
            self.assertEqual((raised.exception.status, raised.exception.code), (404, "not_found"))

    def test_a_closed_stream_ends(self):
        async def run():
            stream = votes(Client(url), "bot/bot5", after="oldest")
            stream.close()
            return [page async for page in stream]

        vote("ann", "bot5")
        stream = votes(Client(url), "bot/bot5", after="oldest")
        next(stream)
        stream.close()
        self.assertEqual((list(stream), asyncio.run(run())), ([], []))


class Follow(unittest.TestCase):
    def test_totals_and_votes_and_no_vote_is_missed_while_away(self):
        channels = ("totals", "votes")
        first = follow(url, ["bot/bot4"], channels=channels)
        totals = next(first)
        vote("ann", "bot4")
        seen = next(message for message in first if message.event == "vote")
        vote("ben", "bot4")
        again = follow(url, ["bot/bot4"], channels=channels, last_event_id=seen.id)
        missed = next(message for message in again if message.event == "vote")

        self.assertEqual((totals.event, totals.data["target"]), ("totals", "bot/bot4"))
        self.assertEqual((seen.data["author"], missed.data["author"]), ("ann", "ben"))

    def test_what_cannot_be_followed_is_an_error(self):
        with self.assertRaises(DirectoryError) as raised:
            next(follow(url, ["bot/none"]))
        self.assertEqual(raised.exception.code, "not_found")


class Receive(unittest.TestCase):
    def setUp(self):
        self.headers, self.body, self.secret = (world["webhook"][name] for name in ("headers", "body", "secret"))

    def test_returns_the_event_of_a_genuine_request(self):
        event = {**json.loads(self.body), "id": self.headers["webhook-id"]}
        capitals = {name.title(): value for name, value in self.headers.items()}

        self.assertEqual(receive(self.headers, self.body, self.secret), event)
        self.assertEqual(receive(capitals, self.body.encode(), ["whsec_b3RoZXI=", self.secret]), event)

    def test_refuses_what_is_forged_changed_too_old_or_unsigned(self):
        forged = (
            (self.headers, self.body + " ", {}),
            ({**self.headers, "webhook-id": "another"}, self.body, {}),
            ({**self.headers, "webhook-timestamp": "soon"}, self.body, {}),
            ({**self.headers, "webhook-timestamp": "9" * 400}, self.body, {}),
            ({**self.headers, "webhook-signature": "v1,*** v1,"}, self.body, {}),
            # As aiohttp shows a byte that is not UTF-8.
            ({**self.headers, "webhook-signature": "v1,\udcff"}, self.body, {}),
            ({**self.headers, "webhook-id": "\udcff"}, self.body, {}),
            (self.headers, self.body, {"now": time.time() + 600}),
            ({}, self.body, {}),
        )
        for headers, body, rest in forged:
            with self.assertRaises(SignatureError):
                receive(headers, body, self.secret, **rest)
        with self.assertRaises(SignatureError):
            receive(self.headers, self.body, "whsec_b3RoZXI=")
        for empty in ("", "whsec_"):
            with self.assertRaises(ValueError):
                receive(self.headers, self.body, empty)


def post_once(token, bot, **options):
    """Posts the numbers of a process as its autoposter does."""
    poster = autopost(url, token, bot, on_error=print, **options)
    poster.post()
    return poster


class Autopost(unittest.TestCase):
    def test_processes_post_their_own_shards_and_restart_without_a_dip(self):
        token = tokens["bot6"]
        posters = [post_once(token, build_bot([id], 3), cluster=f"process-{id}") for id in range(3)]
        seen = [read("bot6")["servers"]]
        for id in range(3):
            posters[id].stop()
            seen.append(read("bot6")["servers"])
            posters[id] = post_once(token, build_bot([id], 3), cluster=f"process-{id}")
            seen.append(read("bot6")["servers"])
        for poster in posters:
            poster.stop()
        bot = read("bot6")
        shards = Client(url).request("GET", "/bots/bot6/shards")["shards"]

        self.assertEqual(seen, [9] * 7)
        self.assertEqual((bot["servers"], bot["users"], bot["shard_list"]), (9, 90, [3, 3, 3]))
        self.assertEqual(
            [(shard["cluster"], shard["status"]) for shard in shards],
            [(f"process-{id}", "offline") for id in range(3)],
        )

    def test_guilds_that_an_outage_hides_keep_their_last_users(self):
        bot = build_bot([0, 1], 2)
        poster = post_once(tokens["bot7"], bot)
        for number in range(6):
            # As the gateway lists guilds after an outage: only their ids.
            add_guild(bot, number, unavailable=True)
        poster.post()
        poster.stop()
        seen = read("bot7")

        self.assertEqual((seen["servers"], seen["shard_list"], seen["users"]), (6, [3, 3], 60))

    def test_it_posts_by_itself_once_the_bot_is_ready(self):
        bot = build_bot([0], 1)
        bot._ready.clear()
        poster = autopost(url, tokens["bot8"], bot, every=0.05)
        time.sleep(0.3)
        early = read("bot8")["servers"]
        bot._ready.set()
        deadline = time.monotonic() + 20
        while read("bot8")["servers"] != 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        poster.stop()
        poster.stop()

        self.assertEqual((early, read("bot8")["servers"], read("bot8")["user"]["status"]), (0, 3, "offline"))

    def test_failures_go_to_on_error(self):
        failures = []
        failed = threading.Event()

        def on_error(error):
            failures.append(error)
            failed.set()

        def stats():
            raise LookupError("no numbers")

        poster = autopost(url, tokens["bot1"], stats=stats, on_error=on_error)
        self.assertTrue(failed.wait(20))
        poster.stop()

        self.assertIsInstance(failures[0], LookupError)

    def test_it_reads_clients_of_one_shard_and_of_many(self):
        import discord

        alone = discord.Client(intents=discord.Intents.default())
        add_guild(alone, 1, member_count=5)
        third = discord.Client(intents=discord.Intents.default(), shard_id=2, shard_count=8)
        third._connection.shard_count = 8
        add_guild(third, 2, member_count=5)

        self.assertEqual(read_shards(alone), (1, [{"id": 0, "servers": 1, "users": 5}]))
        self.assertEqual(read_shards(third), (8, [{"id": 2, "servers": 1, "users": 5}]))
        self.assertEqual(
            read_shards(build_bot([2, 3], 8)),
            (8, [{"id": id, "servers": 3, "users": 30} for id in (2, 3)]),
        )


if __name__ == "__main__":
    unittest.main()
