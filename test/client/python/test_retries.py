"""When the Python client sends a request again, and how it ends: against a server that gives the answers of a list."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from rollcall_client import Client, DirectoryError, follow, group_by_request, votes
from support import ScriptedServer

POST = ("POST", "/bots/stats")
CREATE = ("POST", "/teams")
VOTE = ("PUT", "/users/1/bots/2/votes")
READ = ("GET", "/bots/1")


def reply(status, seconds=None, **context):
    return {"status": status, "headers": {} if seconds is None else {"Retry-After": seconds}, "context": context}


UNKNOWN = reply(503, "1", code="deadline_passed", outcome="unknown")
REFUSED = reply(503, "1", code="overloaded", outcome="not_applied")
LIMITED = reply(429, "1", code="rate_limited")


class Retries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ScriptedServer()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def send(self, answers, request, **options):
        """Sends one request; returns how often it was sent, and the code it failed with."""
        self.server.begin(answers)
        code = ""
        try:
            Client(self.server.url, **options).request(*request, timeout=1.0)
        except DirectoryError as error:
            code = error.code
        return len(self.server.requests), code

    def test_after_429_and_after_503_that_changed_nothing_every_request_is_sent_again(self):
        for request in (CREATE, READ):
            self.assertEqual(self.send([LIMITED, REFUSED], request), (3, ""))

    def test_after_an_unknown_outcome_only_what_does_no_harm_twice_is_sent_again(self):
        for lost, code in ((UNKNOWN, "deadline_passed"), (None, "unreachable"), ("silent", "unreachable")):
            self.assertEqual(self.send([lost], POST), (2, ""))
            self.assertEqual(self.send([lost], CREATE), (1, code))
        self.assertEqual(self.send([UNKNOWN], VOTE), (2, ""))

    def test_keys_and_tokens_beyond_ascii_are_refused_before_anything_is_sent(self):
        self.server.begin([])
        for key in ("order-ä", "ä", "or\u00e4der", "order\u00a0", " order", "order ", "", "a\nb", "a\tb", "鍵"):
            with self.assertRaises(ValueError):
                Client(self.server.url).request(*CREATE, body={}, idempotency_key=key)
        for token in ("Secr3té", "\u00a0Secr3t", "Secr3t\u00a0", "\ufeffSecr3t", "Secr3t\u3000"):
            with self.assertRaises(ValueError) as raised:
                Client(self.server.url, token)
            self.assertNotIn("Secr3t", str(raised.exception))
        self.assertEqual(len(self.server.requests), 0)
        Client(self.server.url, "Secr3t\r\n").request(*CREATE, body={}, idempotency_key="an order 7")

    def test_so_it_is_when_a_proxy_says_that_it_cannot_reach_the_server(self):
        for status in (504, 522):
            self.assertEqual(self.send([reply(status)], POST), (2, ""))
        self.assertEqual(self.send([reply(522)], CREATE), (1, "status_522"))

    def test_a_page_instead_of_a_reply_is_no_reply(self):
        page = {"status": 200, "text": "<title>Log in to this network</title>"}
        self.assertEqual(self.send([page], POST), (2, ""))
        self.assertEqual(self.send([page], CREATE), (1, "unreachable"))

    def test_a_reply_that_is_cut_off_or_does_not_end_is_no_reply(self):
        sized = {"Content-Length": "9"}
        for status in (200, 503):
            for cut in ({"text": ""}, {"text": "{"}, {"trickle": True, "headers": {}}):
                answer = {"status": status, "headers": sized, **cut}
                self.assertEqual(self.send([answer], READ), (2, ""))
                expected = "unreachable" if status == 200 else "status_503"
                self.assertEqual(self.send([answer], CREATE), (1, expected))

    def test_a_creation_with_a_key_is_sent_again_with_the_same_key(self):
        self.server.begin([None, UNKNOWN])
        Client(self.server.url).request(*CREATE, body={}, idempotency_key="k1")
        keys = [headers["Idempotency-Key"] for _, _, headers in self.server.requests]
        self.assertEqual(keys, ["k1"] * 3)

    def test_an_address_without_a_scheme_is_refused_at_once(self):
        for wrong in ("localhost:3000", "directory.example"):
            for use in (Client, lambda url: follow(url, ["bot/1"])):
                with self.assertRaisesRegex(ValueError, "^The url must begin with http:// or https://"):
                    use(wrong)

    def test_votes_wait_as_long_as_the_reply_says(self):
        self.server.begin([reply(503, "9" * 400, code="overloaded", outcome="not_applied")])
        pages = votes(Client(self.server.url), "bot/1", after="a.1")
        ended = []
        reading = threading.Thread(target=lambda: ended.append(next(pages, "closed")), daemon=True)
        reading.start()
        self.assertTrue(self.server.arrived.wait(20))
        time.sleep(0.3)
        self.assertTrue(reading.is_alive())
        pages.close()
        reading.join(20)

        self.assertEqual((ended, len(self.server.requests)), (["closed"], 1))

    def test_the_votes_of_one_request_are_in_one_page_and_in_one_group(self):
        made = [{"number": number, "author": str(number), "created_at": "t"} for number in range(103)]
        made[100]["author"] = made[99]["author"]
        slices = [(0, 100), (100, 101), (101, 102)]
        texts = [json.dumps({"results": made[start:end], "next": f"a.{end}"}) for start, end in slices]
        self.server.begin([{"status": 200, "text": text} for text in texts])
        page = next(iter(votes(Client(self.server.url), "bot/1", after="a.0")))
        groups = group_by_request(list(reversed(page.votes)))

        self.assertEqual((len(page.votes), page.cursor, len(groups), len(groups[1])), (101, "a.101", 100, 1))
        self.assertEqual([vote["number"] for vote in groups[0]], [100, 99])

    def test_what_waiting_does_not_change_is_left_to_the_caller(self):
        self.assertEqual(self.send([reply(429, "9000", code="vote_wait")], VOTE), (1, "vote_wait"))
        long = reply(503, "3600", code="overloaded", outcome="not_applied")
        self.assertEqual(self.send([long], POST), (1, "overloaded"))
        self.assertEqual(self.send([reply(404, code="not_found")], POST), (1, "not_found"))
        self.assertEqual(self.send([reply(418)], POST), (1, "status_418"))
        self.assertEqual(self.send([REFUSED] * 3, POST, attempts_max=2), (2, "overloaded"))

    def test_an_odd_retry_after_names_no_time(self):
        for odd in ("-5", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"):
            began = time.monotonic()
            odd_reply = reply(503, odd, code="overloaded", outcome="not_applied")
            self.assertEqual(self.send([odd_reply], POST), (2, ""))
            self.assertGreater(time.monotonic() - began, 0.75)

    def test_a_post_that_is_redirected_fails_and_a_read_follows_without_its_token(self):
        for status in (301, 302, 303, 307):
            moved = {"status": status, "headers": {"Location": f"{self.server.url}/elsewhere"}}
            self.assertEqual(self.send([moved], POST), (1, "redirected"))
            self.assertEqual(self.send([moved], READ, token="rc_bot_1_x"), (2, ""))
            tokens = [headers.get("Authorization") for _, _, headers in self.server.requests]
            self.assertEqual(tokens, ["rc_bot_1_x", None])

    def test_a_token_with_a_line_break_is_refused_with_words_that_do_not_show_it(self):
        for wrong in ("Secr3t\nsecond", "Secr3t second", "Secr3t\u2028x"):
            with self.assertRaisesRegex(ValueError, "^The token has a blank(?!.*Secr3t)"):
                Client(self.server.url, wrong)
        self.send([], READ, token="rc_bot_1_x\n")
        self.assertEqual(self.server.requests[0][2]["Authorization"], "rc_bot_1_x")

    def test_an_address_may_end_with_a_slash(self):
        self.server.begin([{"status": 404}])
        with self.assertRaises(DirectoryError):
            next(follow(f"{self.server.url}/", ["bot/1"]))
        self.assertEqual(self.server.requests[0][0], "GET /feed?targets=bot%2F1&channels=totals")

    def test_without_a_reply_the_error_says_why(self):
        with self.assertRaisesRegex(DirectoryError, "(?i)refused"):
            Client("http://127.0.0.1:9", attempts_max=1).request(*READ)

    def test_a_bot_ends_by_sigterm_also_without_its_directory(self):
        program = (
            "import signal, sys, threading, time; from rollcall_client import autopost\n"
            "is_listening = threading.Event()\n"
            "stats = lambda: is_listening.wait() and {'servers': 1}\n"
            f"poster = autopost({self.server.url!r}, 'rc_bot_1_x', stats=stats)\n"
            "signal.signal(signal.SIGTERM, lambda *_: (poster.stop(), sys.exit(0)))\n"
            "is_listening.set()\n"
            # One long sleep would miss a signal that arrives just before it begins.
            "while True: time.sleep(0.05)\n"
        )
        for answers in ([], ["silent", "silent"], [reply(503, "30", outcome="not_applied"), "silent"]):
            self.server.begin(answers)
            bot = subprocess.Popen([sys.executable, "-c", program], env=os.environ)
            self.assertTrue(self.server.arrived.wait(20))
            began = time.monotonic()
            bot.send_signal(signal.SIGTERM)
            code = bot.wait(20)
            # Two seconds are promised; the rest is for a busy machine.
            self.assertLess(time.monotonic() - began, 6)
            self.assertEqual(code, 0)
            sent = [(line, body) for line, body, _ in self.server.requests]
            self.assertEqual(
                sent,
                [
                    ("POST /bots/stats", '{"status": "online", "servers": 1}'),
                    ("POST /bots/stats", '{"status": "offline"}'),
                ],
            )


if __name__ == "__main__":
    unittest.main()
