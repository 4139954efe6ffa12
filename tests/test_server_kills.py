"""The server, killed at random moments while clients send feedback: what was acknowledged is
in the journal and in the users' histories after the restart, and nothing is there twice.

EASE_KILLS in the environment: how often it is killed (10; make test-kill: 200)."""

import csv
import http.client
import io
import json
import os
import random
import subprocess
import threading
import time

from serving import Server
from small import ITEMS, as_csv, small_pairs
from support import EASE, PATIENCE, SANITIZED, Case, main

KILLS = int(os.environ.get("EASE_KILLS") or 10)
CLIENTS = 6
USERS = 5  # of each client
SERVE = ("serve", "model.ease", "--users", "ratings.csv", "--journal", "journal", "--unix", "sock",
         "--max-events", "50")


class Sender(threading.Thread):
    """A client with users of its own. Events with an id are sent again until they are
    acknowledged; those without one are sent once."""

    def __init__(self, connect, number, seed):
        super().__init__()
        self.connect_to, self.number = connect, number
        self.stop, self.give_up = threading.Event(), False
        self.random = random.Random(seed * CLIENTS + number)
        self.client = None
        self.sent = []                     # the ids of events, in the order of sending
        self.sequences = {}                # the last event of a request, and its answer's number
        self.acknowledged, self.unsure = set(), set()  # the items of events without an id
        self.histories = {}
        self.answers = self.interrupted = self.duplicates = 0
        self.error = None

    def run(self):
        try:
            while not self.stop.is_set():
                if self.random.random() < 0.2:
                    self.send_once()
                else:
                    self.send_until_acknowledged()
            self.close()
        except Exception as e:  # pylint: disable=broad-except
            self.error = e

    def close(self):
        if self.client:
            self.client.close()
        self.client = None

    def post(self, events):
        """The answer; None if the connection broke first."""
        try:
            if not self.client:
                self.client = http.client.HTTPConnection("localhost")
                self.client.sock = self.connect_to()
            self.client.request("POST", "/v1/feedback", json.dumps({"events": events}).encode(),
                                {"Content-Type": "application/json"})
            r = self.client.getresponse()
            body = r.read()
        except (OSError, http.client.HTTPException):
            self.close()
            self.interrupted += 1
            time.sleep(0.002)
            return None
        assert r.status == 200, body
        self.answers += 1
        return json.loads(body)

    def user(self):
        return f"client {self.number}, user {self.random.randrange(USERS)}"

    def send_once(self):
        events = [{"user": self.user(), "item": f"once {self.number}-{len(self.unsure)}-{n}"}
                  for n in range(self.random.randint(1, 3))]
        items = {e["item"] for e in events}
        self.unsure |= items
        if self.post(events):
            self.acknowledged |= items

    def send_until_acknowledged(self):
        events = []
        for _ in range(self.random.randint(1, 20)):
            event = {"user": self.user(), "item": self.random.choice(ITEMS),
                     "event_id": f"{self.number}-{len(self.sent)}"}
            if self.random.random() < 0.4:
                event["remove"] = True
            events.append(event)
            self.sent.append(event["event_id"])
        while (answer := self.post(events)) is None:
            assert not self.give_up, "no server answers"
        # A server that is killed while it writes may leave the first events of a request.
        assert answer["accepted"] + answer["duplicates"] == len(events), answer
        self.duplicates += answer["duplicates"]
        if answer["accepted"]:
            self.sequences[events[-1]["event_id"]] = answer["sequence"]
        for e in events:
            history = self.histories.setdefault(e["user"], set())
            (history.discard if e.get("remove") else history.add)(e["item"])


class Kills(Case):
    def setUp(self):
        super().setUp()
        self.write("ratings.csv", as_csv(small_pairs()))
        self.ease("train", "ratings.csv", "-o", "model.ease", "--lambda", "2", "-q")
        self.seed = random.randrange(1 << 30)
        self.random = random.Random(self.seed)

    def start_and_kill(self, senders):
        """Kills a server at any moment: in every fifth round, perhaps before it serves; else
        after its first answer."""
        answers = sum(s.answers for s in senders)
        if self.random.random() < 0.2:
            process = subprocess.Popen([EASE, *SERVE], cwd=self.dir, stdin=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(self.random.uniform(0, 0.05))
        else:
            process = Server(*SERVE[1:], cwd=self.dir).process
            end = time.monotonic() + PATIENCE
            while sum(s.answers for s in senders) == answers:
                self.assertLess(time.monotonic(), end, [s.error for s in senders])
                time.sleep(0.001)
            time.sleep(self.random.uniform(0, 1 if SANITIZED else 0.1))
        self.assertIsNone(process.poll(), "the server ended before it was killed")
        process.kill()
        process.wait()

    def journal(self):
        """The events with an id, and the items of those without one, in their order."""
        rows = list(csv.DictReader(io.StringIO(self.ease("journal", "journal", "--csv").out)))
        self.assertEqual([int(r["sequence"]) for r in rows], list(range(1, len(rows) + 1)))
        return rows, [r["event_id"] for r in rows if r["event_id"]], \
            [r["item"] for r in rows if not r["event_id"]]

    def check_journal(self, senders):
        rows, ids, once = self.journal()
        self.assertEqual(len(ids), len(set(ids)), "an event is there twice")
        self.assertEqual(len(once), len(set(once)), "an event is there twice")
        self.assertEqual(len(ids), sum(len(s.sent) for s in senders))
        place = {r["event_id"]: int(r["sequence"]) for r in rows}
        for s in senders:
            self.assertEqual([i for i in ids if i.startswith(f"{s.number}-")], s.sent)
            mine = {i for i in once if i.startswith(f"once {s.number}-")}
            self.assertLessEqual(s.acknowledged, mine)
            self.assertLessEqual(mine, s.unsure)
            for event, sequence in s.sequences.items():
                self.assertLessEqual(place[event], sequence)

    def check_histories(self, server, senders):
        for s in senders:
            users = sorted(s.histories)
            answer = server.post("/v1/recommend", {"requests": [
                {"user": u, "k": len(ITEMS)} for u in users]})
            self.assertEqual(answer.status, 200, answer)
            for user, result in zip(users, answer.json["results"], strict=True):
                listed = {i["id"] for i in result["items"]}
                self.assertEqual(set(ITEMS) - listed, s.histories[user], user)

    def test_acknowledged_feedback_survives_kills_and_nothing_is_there_twice(self):
        place = Server.__new__(Server)  # an address only: servers come and go
        place.unix = self.path("sock")
        senders = [Sender(place.connect, n, self.seed) for n in range(CLIENTS)]
        for s in senders:
            s.start()
        try:
            for _ in range(KILLS):
                self.start_and_kill(senders)
            server = Server(*SERVE[1:], cwd=self.dir)
            self.addCleanup(server.process.kill)
            for s in senders:
                s.stop.set()
                s.join(PATIENCE)
        finally:
            for s in senders:
                s.stop.set()
                s.give_up = True
        for s in senders:
            if s.error:
                raise AssertionError(f"seed {self.seed}") from s.error
        self.check_histories(server, senders)
        self.assertEqual(server.stop(), 0, server.read_log())
        self.check_journal(senders)
        counts = {what: sum(getattr(s, what) for s in senders)
                  for what in ("answers", "interrupted", "duplicates")}
        print(f"  {KILLS} kills, seed {self.seed}: {counts}", flush=True)
        self.assertGreater(counts["answers"], KILLS)
        self.assertGreater(counts["interrupted"], KILLS)  # more clients than one at a time


if __name__ == "__main__":
    main()
