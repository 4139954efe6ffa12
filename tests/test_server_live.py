"""The server with --live: saving the updated model, and what happens to files then."""

import json
import os
import signal
import time

from serving import Server
from small import ITEMS, as_csv, small_pairs
from support import Case, main

NEVER = 3600  # seconds: not during a test


class Live(Case):
    def setUp(self):
        super().setUp()
        self.pairs = small_pairs()
        self.write("ratings.csv", as_csv(self.pairs))
        self.train("ratings.csv", "model.ease")

    def train(self, data, model, *args):
        self.ease("train", data, "-o", model, "--updatable", "--storage", "packed", "-q",
                  *(args or ("--lambda", "2")))

    def serve(self, *args, every=0.1):
        server = Server("model.ease", "--users", "ratings.csv", "--journal", "journal", "--live",
                        "--update-every", every, *args, cwd=self.dir)
        self.addCleanup(server.process.kill)
        return server

    def feed(self, server, user, *items):
        """New events of a user; they are in self.pairs too."""
        events = [{"user": user, "item": i} for i in items]
        self.assertEqual(server.post("/v1/feedback", {"events": events}).status, 200)
        self.pairs += [(user, i) for i in items]

    def compare(self, server, pairs):
        """Its lists are those of a model that is trained on these pairs."""
        self.write("now.csv", as_csv(pairs))
        self.train("now.csv", "now.ease")
        for history in (["react"], ["express", "lodash"], ITEMS[:3]):
            r = self.ease("recommend", "now.ease", "--history", ",".join(history), "--json", "-k", 20)
            wanted = {i["id"]: i["score"] for i in json.loads(r.out)["items"]}
            got = server.post("/v1/recommend", {"history": history, "k": 20}).json["items"]
            self.assertEqual({i["id"] for i in got}, set(wanted))
            for i in got:  # rows of float16, 11 bits, of at most three weights below 1
                self.assertAlmostEqual(i["score"], wanted[i["id"]], delta=3 * 2**-10)

    def kill(self, server):
        server.process.kill()
        server.process.wait()

    def generation(self, server):
        return server.get("/v1/model").json["generation"]


class Saving(Live):
    def test_a_restart_after_a_kill_goes_on_from_the_saved_model(self):
        server = self.serve("--save-every", 0.1)
        self.feed(server, "new", "react", "express", "brand-new")
        server.wait_for_log("saved model.ease, up to event 3")
        saved = list(self.pairs)
        self.kill(server)

        server = self.serve("--save-every", NEVER, every=NEVER)
        self.compare(server, saved)  # before any update
        self.feed(server, "late", "redux", "react")
        self.kill(server)

        server = self.serve("--save-every", NEVER)
        server.wait_for_log("update 1: 1 users")  # the other one is in the model
        self.compare(server, self.pairs)
        self.assertEqual(server.get("/v1/items/brand-new").json["popularity"], 1)
        self.assertEqual(server.stop(), 0)

    def test_the_model_is_saved_at_the_end(self):
        server = self.serve("--save-every", NEVER)
        self.feed(server, "new", "react", "express")
        server.wait_for_log("update 1:")
        self.assertEqual(server.stop(), 0)
        self.assertIn("saved model.ease, up to event 2", server.read_log())
        server = self.serve(every=NEVER)
        self.compare(server, self.pairs)
        self.assertEqual(server.stop(), 0)

    def test_an_end_that_cannot_save_says_so(self):
        before = self.read("model.ease")
        server = self.serve("--save-every", NEVER, "--grace", 0.5)
        self.feed(server, "new", "react", "express")
        server.wait_for_log("update 1:")
        with server.connect() as s:  # a request that is not answered within the grace period
            s.sendall(b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\n"
                      b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
            time.sleep(0.3)
            self.assertEqual(server.stop(), 1)
        self.assertRegex(server.read_log(), "updates since the last save are not in model.ease")
        self.assertEqual(self.read("model.ease"), before)
        server = self.serve("--save-every", NEVER)
        server.wait_for_log("update 1: 1 users")
        self.compare(server, self.pairs)
        self.assertEqual(server.stop(), 0)

    def test_without_the_option_the_file_stays(self):
        before = self.read("model.ease")
        server = self.serve()
        self.feed(server, "new", "react")
        server.wait_for_log("update 1:")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.read("model.ease"), before)

    def test_what_was_saved_is_not_loaded_again(self):
        server = self.serve("--save-every", 0.1)
        self.feed(server, "new", "react")
        server.wait_for_log("saved model.ease")
        time.sleep(2.5)  # two looks at files
        self.assertEqual(self.generation(server), 2)
        self.assertEqual(server.read_log().count("saved model.ease"), 1)
        self.assertNotIn("again", server.read_log())
        self.assertEqual(server.stop(), 0)

    def test_a_file_of_somebody_else_is_not_replaced(self):
        self.write("other.csv", as_csv(self.pairs[:-5]))
        self.train("other.csv", "other.ease")
        other = self.read("other.ease")
        server = self.serve("--save-every", 0.1)
        os.replace(self.path("other.ease"), self.path("model.ease"))
        self.feed(server, "new", "react")
        server.wait_for_log("model.ease: is another file")
        self.feed(server, "newer", "react")
        server.wait_for_log("update 2:")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.read("model.ease"), other)
        self.assertEqual(server.read_log().count("is another file"), 1)

    def test_the_directory_of_the_journal_may_be_empty(self):
        os.mkdir(self.path("journal"))
        self.write("journal/new.part", b"")  # of a server that was killed at its first start
        server = self.serve()
        self.feed(server, "new", "react", "express")
        server.wait_for_log("update 1: 1 users")
        self.assertEqual(server.stop(), 0)

    def test_it_needs_live_updates(self):
        self.fails(2, "--save-every belongs to --live", "serve", "model.ease", "--save-every", 1)


class Swapping(Live):
    def setUp(self):
        super().setUp()
        self.train("ratings.csv", "other.ease", "--lambda", "50")
        self.train("ratings.csv", "third.ease", "--lambda", "70")

    def lambdas(self, server):
        return [server.get(f"/v1/model?model={m}").json["lambda"] for m in ("main", "compare")]

    def replace(self, name, path):
        self.write("next", self.read(name))
        os.replace(self.path("next"), self.path(path))

    def test_the_model_beside_a_live_one_is_swapped(self):
        server = self.serve("--compare", "other.ease")
        self.assertEqual(self.lambdas(server), [2, 50])
        self.replace("third.ease", "other.ease")
        server.wait_for_log("serving other.ease again")
        self.assertEqual(self.lambdas(server), [2, 70])
        answer = server.post("/v1/reload", {})
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json, {"generation": 3})  # of other.ease
        server.wait_for_log("serving other.ease again", count=2)
        server.send(signal.SIGHUP)
        server.wait_for_log("serving other.ease again", count=3)
        self.assertEqual(server.stop(), 0)

    def test_the_file_of_a_live_model_is_not_loaded_and_the_log_says_so(self):
        server = self.serve("--compare", "other.ease")
        self.replace("third.ease", "model.ease")
        server.send(signal.SIGHUP)
        server.wait_for_log("SIGHUP: .* but not that of the model")
        server.wait_for_log("serving other.ease again")
        self.assertEqual(self.lambdas(server), [2, 50])
        self.assertNotIn("serving model.ease again", server.read_log())
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    main()
