"""Asking for lists: histories with weights, users of a file, items denied to users, and
requests through a pipe, whose answers are those of the command line and of the server."""

import ast
import base64
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

from serving import Server
from small import ITEMS, Trained, history_of
from support import BUILD, EASE, PATIENCE, ROOT, main, wait_until_caught


class Dialogue:
    """ease recommend MODEL --follow, as a coprocess: asks, and waits for each answer."""

    def __init__(self, *args, cwd):
        self.process = subprocess.Popen([EASE, "recommend", *map(str, args), "--follow"], cwd=cwd,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0)
        self.lines = open(self.process.stdout.fileno(), "rb", closefd=False)

    def send(self, data):
        self.process.stdin.write(data)

    def ask(self, request):
        """The answer to a request, which is waited for: nothing else is sent before."""
        if not isinstance(request, bytes):
            request = json.dumps(request).encode()
        self.send(request + b"\n")
        return self.answer()

    def answer(self):
        watch = threading.Timer(PATIENCE, self.process.kill)
        watch.start()
        line = self.lines.readline()
        watch.cancel()
        assert line.endswith(b"\n"), (line, self.process.stderr.read())
        return json.loads(line)

    def end(self):
        """Ends the input. Returns the exit code, what else was printed, and the messages."""
        self.process.stdin.close()
        rest, err = self.lines.read(), self.process.stderr.read().decode()
        return self.process.wait(PATIENCE), rest, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for f in (self.process.stdin, self.process.stdout, self.process.stderr):
            f.close()


class Asked(Trained):
    def listed(self, *args, model="model.ease"):
        """The lists of the command line: id and score of each item."""
        out = self.ease("recommend", model, *args, "--json", "-q").out
        return [[(i["id"], i["score"]) for i in json.loads(line)["items"]]
                for line in out.splitlines()]

    def dialogue(self, *args, model="model.ease"):
        return Dialogue(model, *args, "-q", cwd=self.dir)


def pairs_of(answer):
    return [(i["id"], i["score"]) for i in answer["items"]]


class Histories(Asked):
    def by_the_book(self, weights, k=3):
        scores = sum(w * self.b[self.ids.index(i)] for i, w in weights.items())
        order = sorted(range(len(self.ids)), key=lambda j: (-scores[j], j))
        return [(self.ids[j], scores[j]) for j in order if self.ids[j] not in weights][:k]

    def test_weights_are_those_of_the_book(self):
        for text, weights in (("react:2,redux", {"react": 2, "redux": 1}),
                              ("react:-1,redux:0.5", {"react": -1, "redux": 0.5}),
                              ("react,lodash:1e1", {"react": 1, "lodash": 10})):
            (got,) = self.listed("--history", text, "-k", 3)
            want = self.by_the_book(weights)
            self.assertEqual([i for i, _ in got], [i for i, _ in want], text)
            # Entries of the inverse are within 1, each with the error of float32.
            np.testing.assert_allclose([s for _, s in got], [s for _, s in want], rtol=0,
                                       atol=len(self.ids) * sum(map(abs, weights.values()))
                                       * np.finfo(np.float32).eps)

    def test_every_form_gives_the_same_list(self):
        want = self.listed("--history", "react:2,redux")
        self.write("h.txt", "react:2\r\nredux\n")
        self.write("h.json", '\ufeff[\n {"id": "react",\n  "weight": 2},\n "redux"\n]\n')
        for text in ('["redux", {"id": "react", "weight": 2}]', '{"react": 2, "redux": 1}',
                     ' {"react": 2.0, "redux": 1}', "react,redux,react", "@h.txt", "@h.json",
                     '[{"id_base64": "%s", "weight": 2}, {"id": "redux"}]'
                     % base64.b64encode(b"react").decode()):
            got = self.listed("--history", text)
            if text == "react,redux,react":  # without weights an id counts once
                self.assertEqual(got, self.listed("--history", "react,redux"))
            else:
                self.assertEqual(got, want, text)
        out = self.ease("recommend", "model.ease", "--history", "@-", "--json",
                        input='{"react": 2, "redux": 1}').out
        self.assertEqual(pairs_of(json.loads(out)), want[0])

    def test_an_id_with_a_colon_is_what_it_is(self):
        self.write("x.csv", "user,item\n" + "".join(
            f"u{u},{i}\n" for u in range(20)
            for i in ("urn:1", "urn", "a:2", "[x", "y")[u % 2:4 + u % 2]))
        self.ease("train", "x.csv", "-o", "x.ease", "--lambda", 2)
        one = lambda *h: self.listed("--history", *h, "--keep-seen", model="x.ease")[0]
        self.assertEqual(one("urn:1"), one('["urn:1"]'))
        self.assertEqual(one("urn:1:3"), one('{"urn:1": 3}'))
        self.assertEqual(one("urn:2"), one('{"urn": 2}'))
        self.assertEqual(one("a:2"), one('["a:2"]'))
        self.assertEqual(one("[x,y"), one('["[x", "y"]'))  # an id of the model, not JSON
        r = self.ease("recommend", "x.ease", "--history", "y,nobody:3,y:x,:2")
        self.assertIn("3 of 4 ids unknown to the model: nobody:3, y:x, :2", r.err)

    def test_explain_takes_weights_too(self):
        out = json.loads(self.ease("explain", "model.ease", "--history", "react:3,lodash",
                                   "redux", "--json").out)
        parts = {r["id"]: r["contribution"] for r in out["reasons"]}
        at = self.ids.index
        self.assertAlmostEqual(parts["react"], 3 * self.b[at("react"), at("redux")], delta=1e-5)
        self.assertAlmostEqual(parts["lodash"], self.b[at("lodash"), at("redux")], delta=1e-5)

    def test_what_is_no_history_is_refused(self):
        ask = ("recommend", "model.ease", "--history")
        for text, why in (("[", "byte 2: the text ends too early"),
                          ('["react",]', "byte 10: a value is missing"),
                          ("{'react': 1}", "byte 2: a key in quotes is missing"),
                          ('["react"] x', "byte 11: something follows"),
                          ('{"react": 1, "react": 2}', '"react" occurs twice'),
                          ('{"react": "2"}', "the weight must be a number"),
                          ('{"react": 1e31}', "the weight must be a number"),
                          ('[{"id": "react", "wieght": 2}]', 'no member "wieght"'),
                          ('[{"weight": 2}]', 'either "id" or "id_base64"'),
                          ('["\\u0000"]', "must not contain U.0000"),
                          ("[null]", "must be an id"), ("[1.5]", "must be an id"),
                          ('[""]', "must be an id"), ("[" * 40, "too many levels")):
            self.fails(3, why, *ask, text)
        self.write("h.json", '["react"')
        self.fails(3, "h.json: byte 9: the text ends too early", *ask, "@h.json")


class Users(Asked):
    def test_a_user_of_the_data_gets_the_list_of_the_file(self):
        whole = self.ease("recommend", "model.ease", "--users", "ratings.csv", "--json", "-k",
                          3).out.splitlines()
        by_user = {json.loads(line)["user"]: line for line in whole}
        got = self.ease("recommend", "model.ease", "--users", "ratings.csv", "--json", "-k", 3,
                        "--user", "u7", "--user", "u0", "--user", "u7").out.splitlines()
        self.assertEqual(got, [by_user["u7"], by_user["u0"], by_user["u7"]])
        text = self.ease("recommend", "model.ease", "--users", "ratings.csv", "--user", "u7",
                         "--reasons", 1).out
        self.assertTrue(text.startswith("user u7\n"), text)

    def test_only_items_of_these_users_are_warned_about(self):
        self.write("new.csv", "user,item\na,react\na,strange\nb,other\nb,redux\n")
        r = self.ease("recommend", "model.ease", "--users", "new.csv", "--user", "a", "--csv")
        self.assertIn("1 items unknown to the model, with 1 interactions: strange\n", r.err)

    def test_an_unknown_user_is_an_error_with_a_way_on(self):
        users = ("recommend", "model.ease", "--users", "ratings.csv")
        self.fails(3, "ratings.csv: no user 'u77'; did you mean u7", *users, "--user", "u7",
                   "--user", "u77")
        self.fails(2, "ease knows no users: add --users DATA", "recommend", "model.ease",
                   "--user", "u7")
        self.fails(2, "either --history or --user or --users DATA, not both", *users,
                   "--history", "react")

    def test_denied_pairs_leave_the_lists_of_others_as_they_are(self):
        users = ("--users", "ratings.csv", "-k", 2)
        plain = self.listed(*users)
        names = list(dict.fromkeys(u for u, _ in self.pairs))
        first = {u: [i for i, _ in items] for u, items in zip(names, plain)}
        denied = [(u, i) for u in names[::3] for i in first[u]] + [("stranger", "react"),
                                                                   (names[1], "unheard-of")]
        self.write("deny.csv", "user,item\n" + "".join(f"{u},{i}\n" for u, i in denied))
        r = self.ease("recommend", "model.ease", *users, "--deny-pairs", "deny.csv", "--json")
        count = len({i for _, i in denied})
        self.assertIn(f"deny.csv: 1 of {count} items unknown to the model: unheard-of", r.err)
        self.assertIn(f"items are denied to {len(names[::3])} of {len(names)} users", r.err)
        for u, line, before in zip(names, r.out.splitlines(), plain):
            got, own = pairs_of(json.loads(line)), history_of(self.pairs, u)
            if u in names[::3]:
                rest = [i for i in self.expected(own, 99) if i[0] not in first[u]]
                self.assertEqual([i for i, _ in got], [i for i, _ in rest][:2], u)
            else:
                self.assertEqual(got, before)

    def test_columns_of_denied_pairs_can_be_named(self):
        plain = self.listed("--users", "ratings.csv", "--user", "u7", "-k", 2)[0]
        self.write("deny.tsv", f"1\t{plain[0][0]}\tu7\n2\tlodash\tu8\n")
        one = ("--users", "ratings.csv", "--user", "u7", "--deny-pairs", "deny.tsv")
        got = self.listed(*one, "--deny-columns", "3,2", "-k", 2)[0]
        self.assertEqual(got[0], plain[1])
        self.write("deny.tsv", "user,item\n")  # nothing is denied today
        self.assertEqual(self.listed(*one, "-k", 2)[0], plain)

    def test_denied_pairs_that_do_not_fit_are_refused(self):
        self.fails(2, "--deny-pairs is for users: --deny FILE goes with --history", "recommend",
                   "model.ease", "--history", "react", "--deny-pairs", "x.csv")
        self.fails(2, "--deny-columns goes with --deny-pairs", "recommend", "model.ease",
                   "--history", "react", "--deny-columns", "1,2")
        self.fails(1, "none.csv", "recommend", "model.ease", "--users", "ratings.csv",
                   "--deny-pairs", "none.csv")


class KnownUsers(Asked):
    """A model that scores only the users of its training data."""

    def setUp(self):
        super().setUp()
        self.ease("train", "ratings.csv", "-o", "lrec.ease", "--model", "lrec")

    def test_users_alone_of_data_and_of_requests_agree(self):
        alone = self.listed("--user", "u7", "-k", 3, model="lrec.ease")[0]
        some = self.listed("--users", "ratings.csv", "--user", "u7", "-k", 3, model="lrec.ease")
        self.assertEqual(some[0], alone)
        self.write("deny.csv", f"user,item\nu7,{alone[0][0]}\n")
        denied = self.listed("--user", "u7", "-k", 2, "--deny-pairs", "deny.csv",
                             model="lrec.ease")[0]
        self.assertEqual(denied, alone[1:])
        with self.dialogue("-k", 3, model="lrec.ease") as d:
            self.assertEqual(pairs_of(d.ask({"user": "u7"})), alone)
            self.assertEqual(d.ask({"user": "u99"})["error"]["code"], "unknown_user")
            self.assertEqual(d.ask({"history": ["react"]})["error"]["code"], "not_possible")
            self.assertEqual(d.ask({"user": "u7", "reasons": 1})["error"]["code"],
                             "not_possible")
            self.assertEqual(d.end()[0], 0)


class Follow(Asked):
    def test_each_request_is_answered_before_the_next_one_is_sent(self):
        with self.dialogue("-k", 3) as d:
            for u in range(40):
                own = history_of(self.pairs, f"u{u}")
                (want,) = self.listed("--history", ",".join(own), "-k", 3)
                got = d.ask({"history": own})
                self.assertEqual(pairs_of(got), want)  # the same bits
                self.assertEqual(got["unknown"], [])
            self.assertEqual(d.end(), (0, b"", ""))

    def test_a_request_in_pieces_and_many_at_once_are_answered_in_order(self):
        with self.dialogue("-k", 1) as d:
            text = json.dumps({"history": ["react"], "k": 2}).encode()
            for byte in text:
                d.send(bytes([byte]))
                time.sleep(0.001)
            d.send(b"\n")
            self.assertEqual(len(d.answer()["items"]), 2)
            d.send(b"".join(b'{"history": ["%s"], "k": %d}\r\n' % (i.encode(), k + 1)
                            for k, i in enumerate(ITEMS[:5])))
            for k, i in enumerate(ITEMS[:5]):
                (want,) = self.listed("--history", i, "-k", k + 1)
                self.assertEqual(pairs_of(d.answer()), want)
            d.send(b'{"history": ["react"]}')  # no line end
            code, rest, _ = d.end()
            self.assertEqual(code, 0)
            self.assertEqual(pairs_of(json.loads(rest)), self.listed("--history", "react", "-k",
                                                                     1)[0])

    def test_errors_are_answers_and_the_dialogue_goes_on(self):
        cases = ((b"", "bad_json"), (b"nonsense", "bad_json"), (b"[1]", "bad_value"),
                 (b'{"history": ["react"], "history": ["react"]}', "bad_json"),
                 (b'{"history": ["caf\xe9"]}', "bad_json"), (b'{"history": ["a\0b"]}', "bad_json"),
                 ({}, "bad_value"), ({"history": [], "user": "u1"}, "bad_value"),
                 ({"history": ["react"], "kk": 1}, "bad_value"),
                 ({"history": ["react"], "k": 0}, "bad_value"),
                 ({"history": ["react"], "k": 1.5}, "bad_value"),
                 ({"history": ["react"], "k": "3"}, "bad_value"),
                 ({"history": "react"}, "bad_value"), ({"history": [None]}, "bad_value"),
                 ({"history": ["react"], "keep_seen": 1}, "bad_value"),
                 ({"history": ["react"], "popularity_power": 11}, "bad_value"),
                 ({"history": ["react"], "allow": "react"}, "bad_value"),
                 ({"history": ["react"], "only": ["side=front"]}, "no_tags"),
                 ({"history": ["react"], "at_most": {"side": 1}}, "no_tags"),
                 ({"history": ["react"], "at_most": [1]}, "bad_value"),
                 ({"user": "u1"}, "not_possible"),
                 (b'{"history": ["' + b"x" * (5 << 20) + b'"]}', "too_large"))
        with self.dialogue("-k", 1) as d:
            for request, code in cases:
                got = d.ask(request)
                self.assertEqual(set(got), {"error"}, str(request)[:80])
                self.assertEqual(got["error"]["code"], code, (got, str(request)[:80]))
                self.assertGreater(len(got["error"]["message"]), 10)
                self.assertEqual(len(d.ask({"history": ["react"]})["items"]), 1)
            self.assertEqual(d.end(), (0, b"", ""))

    def test_users_come_from_the_data_and_denials_from_their_file(self):
        whole = self.listed("--users", "ratings.csv", "--user", "u7", "-k", 4)[0]
        self.write("deny.csv", f"user,item\nu7,{whole[1][0]}\n")
        with self.dialogue("-k", 3, "--users", "ratings.csv", "--deny-pairs", "deny.csv") as d:
            self.assertEqual(pairs_of(d.ask({"user": "u7"})), [whole[0], *whole[2:]])
            own = history_of(self.pairs, "u7")
            self.assertEqual(pairs_of(d.ask({"history": own})), whole[:3])
            got = d.ask({"user": "u999"})
            self.assertEqual(got["error"]["code"], "unknown_user")
            self.assertEqual(d.end()[0], 0)

    def test_options_of_the_command_line_hold(self):
        self.write("deny.txt", "babel\n")
        with self.dialogue("-k", 2, "--deny", "deny.txt", "--popularity-power", -0.5,
                           "--reasons", 1) as d:
            got = d.ask({"history": ["react"]})
            want = self.ease("recommend", "model.ease", "--history", "react", "-k", 2, "--deny",
                             "deny.txt", "--popularity-power", -0.5, "--reasons", 1,
                             "--json").out
            self.assertEqual(got["items"], json.loads(want)["items"])
            both = d.ask({"history": ["react"], "k": 9, "allow": ["babel", "redux", "lodash"],
                          "deny": ["lodash"], "reasons": 0, "popularity_power": 0})
            self.assertEqual([sorted(i) for i in both["items"]], [["id", "score"]])
            self.assertEqual(both["items"][0]["id"], "redux")
            seen = d.ask({"history": ["react"], "keep_seen": True, "allow": ["react"]})
            self.assertEqual([i["id"] for i in seen["items"]], ["react"])

    def test_what_does_not_fit_is_refused(self):
        follow = ("recommend", "model.ease", "--follow")
        self.fails(2, "leave out --history", *follow, "--history", "react")
        self.fails(2, "leave out --user", *follow, "--user", "u1", "--users", "ratings.csv")
        self.fails(2, "not in --csv", *follow, "--csv")
        for option in ("--users", "--deny", "--allow", "--deny-pairs"):
            self.fails(2, f"{option} needs a file", *follow, option, "-")

    def test_an_interrupt_and_a_client_that_leaves_end_it(self):
        # The signal comes at once behind an answer: while the next line is not waited for yet.
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)) * 10:
            with self.dialogue() as d:
                wait_until_caught(d.process, number)
                d.ask({"history": ["react"]})
                d.process.send_signal(number)
                self.assertEqual(d.process.wait(PATIENCE), code)
        with self.dialogue() as d:
            d.ask({"history": ["react"]})
            d.process.stdout.close()
            d.send(b'{"history": ["react"]}\n')
            self.assertIn(d.process.wait(PATIENCE), (1, -signal.SIGPIPE))

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "ease-serve")), "no server is built")
    def test_answers_are_those_of_the_server(self):
        self.write("tags.csv", "item,side\n" + "".join(
            f"{i},{'front' if n < 4 else 'back'}\n" for n, i in enumerate(ITEMS[:7])))
        self.write("titles.csv", "id,title\nreact,R\u00e9act \"the\" first\n")
        self.ease("train", "ratings.csv", "-o", "tagged.ease", "--lambda", 2, "--kind",
                  "covariance", "--titles", "titles.csv", "--tags", "tags.csv", "--tag-weight", 0)
        some = {"history": ["react", "redux"]}
        requests = [some, dict(some, k=3), dict(some, keep_seen=True, reasons=2),
                    dict(some, allow=["webpack", "express"]), dict(some, deny=["webpack"]),
                    dict(some, only=["side=back"]), {"not": ["side=back"], **some},
                    dict(some, only=["side=none"]), dict(some, at_most={"side": 1}),
                    dict(some, at_most={"sides": 1}), dict(some, popularity_power=-0.7),
                    {"history": ["nobody", 5], "k": 2}, {"history": [], "k": 2},
                    {"history": [{"id": "react", "weight": 2.5}, "redux", "react"]},
                    {"history": [{"id_base64": "Y2Fm6Q=="}, "react"], "k": 1},
                    {"history": ["r\u00e9act\ud83d\ude00", "react"], "k": 1},
                    {"user": "u7", "reasons": 1}, {"user": "u99"}, {"history": [1.5]},
                    dict(some, k=-1), dict(some, at_most={"side": 0}), dict(some, at_most=[])]
        server = Server("tagged.ease", "--users", "ratings.csv", cwd=self.dir)
        try:
            with self.dialogue("--users", "ratings.csv", model="tagged.ease") as d:
                for request in requests:
                    want = server.post("/v1/recommend", request).json
                    got = d.ask(request)
                    want.pop("generation", None)
                    if "error" in want:
                        want, got = want["error"]["code"], got["error"]["code"]
                    self.assertEqual(got, want, request)
        finally:
            server.stop()


class Documented(Asked):
    def test_the_client_of_the_documentation_works(self):
        with open(os.path.join(ROOT, "docs", "lists.md")) as f:
            text = f.read()
        client = text.split("```python\n")[1].split("```")[0]
        path = f"{BUILD}:{os.environ['PATH']}"
        end = "\nease.stdin.close()\nassert ease.wait() == 0\n"
        done = subprocess.run([sys.executable, "-c", client + end], cwd=self.dir, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, PATH=path), timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, second = (ast.literal_eval(line) for line in done.stdout.splitlines())
        self.assertEqual(pairs_of(first), self.listed("--history", "react,redux:2", "-k", 3)[0])
        self.assertEqual(pairs_of(second),
                         self.listed("--users", "ratings.csv", "--user", "u7")[0])

    def test_the_commands_of_the_documentation_work(self):
        self.write("mine.txt", "react:2\nredux\n")
        self.write("bought.csv", "user,item\nu7,lodash\n")
        self.write("requests.jsonl", '{"history": ["react"]}\n{"user": "u7"}\n')
        path = f"{BUILD}:{os.environ['PATH']}"
        with open(os.path.join(ROOT, "docs", "lists.md")) as f:
            commands = re.findall(r"(?m)^    (ease .*)$", f.read())
        self.assertGreaterEqual(len(commands), 7)
        for command in commands:
            done = subprocess.run(command, shell=True, cwd=self.dir, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=dict(os.environ, PATH=path),
                                  check=False)
            self.assertEqual(done.returncode, 0, (command, done.stderr))
        answers = [json.loads(line) for line in self.read("answers.jsonl").splitlines()]
        self.assertEqual([sorted(a) for a in answers], [["items", "unknown"], ["error"]])


if __name__ == "__main__":
    main()
