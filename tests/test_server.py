"""The server: every route and every error, answers equal to those of the program, swaps
under load, malformed requests, limits, trust, and how it ends."""

import base64
import concurrent.futures
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import urllib.parse

from serving import JSON, Server, read_all, statuses
from small import ITEMS, as_csv, small_pairs
from support import EASE, PATIENCE, SANITIZED, Case, main, run

ODD = b"caf\xe9"  # an id that is not UTF-8
STRANGE = "a/b?c=ä %"  # one that URLs must escape
TOKEN = "0123456789abcdef0123456789abcdef"


def make(path, *args):
    r = run("train", *args, "-q", cwd=path)
    assert r.code == 0, r


def write(path, content):
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())


def alone_in_the_network(script, place):
    """Runs Python where there are no other addresses than 127.0.0.1, 192.0.2.1 and 192.0.2.2."""
    if subprocess.run(["unshare", "-rn", "true"], check=False, capture_output=True).returncode:
        raise unittest.SkipTest("this user may not make network namespaces")
    begin = ("import socket, sys, time\nsys.path.insert(0, sys.argv[1])\n"
             "from serving import Server, statuses\nfrom support import PATIENCE\n")
    addresses = ("ip link set lo up && ip address add 192.0.2.1/32 dev lo && "
                 "ip address add 192.0.2.2/32 dev lo && exec \"$@\"")
    return subprocess.run(["unshare", "-rn", "sh", "-c", addresses, "sh", sys.executable, "-c",
                           begin + textwrap.dedent(script), os.path.dirname(__file__) or "."],
                          cwd=place, text=True, capture_output=True, check=False)


def make_files(place):
    """model.ease with titles, tags and ids of all kinds; other.ease with another lambda."""
    pairs = [(u.encode(), i.encode()) for u, i in small_pairs()]
    pairs += [(b"u%d" % u, i) for u in range(0, 60, 3) for i in (ODD, STRANGE.encode())]
    write(f"{place}/ratings.csv", b"user,item\n" + b"".join(b",".join(p) + b"\n" for p in pairs))
    write(f"{place}/titles.csv", "id,title\nreact,Réact the first\nredux,\"State, kept\"\n"
                                 "express,Fast web framework\nlodash,\n")
    write(f"{place}/tags.csv", "item,side\n" + "".join(
        f"{i},{'front' if n < 4 else 'back'}\n" for n, i in enumerate(ITEMS[:7])))
    make(place, "ratings.csv", "-o", "model.ease", "--lambda", "2", "--titles", "titles.csv",
         "--tags", "tags.csv", "--tag-weight", "0")
    make(place, "ratings.csv", "-o", "other.ease", "--lambda", "50")


class Served(Case):
    """Tests of a server that runs for all of them, with OPTIONS."""

    OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        make_files(cls.place)
        cls.prepare()
        cls.server = Server("model.ease", *cls.OPTIONS, cwd=cls.place)
        cls.addClassCleanup(cls.end)

    @classmethod
    def prepare(cls):
        pass

    @classmethod
    def end(cls):
        code = cls.server.stop()
        assert code == 0, f"exit {code}\n{cls.server.read_log()}"

    def fails(self, status, code, answer):  # pylint: disable=arguments-differ
        self.assertEqual((answer.status, answer.code), (status, code), answer)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        return answer.json["error"]["message"]

    def recommend(self, **body):
        return self.server.post("/v1/recommend", body)

    def program(self, verb, *args):
        r = run(verb, "model.ease", *args, "--json", cwd=self.place)
        self.assertEqual(r.code, 0, r)
        return json.loads(r.out)


# ---- answers -------------------------------------------------------------------------

class Recommending(Served):
    def same(self, answer, *args):
        """The items have the bits of the program's."""
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["items"], self.program("recommend", *args)["items"])

    def test_lists_have_the_bits_of_the_program(self):
        for history in (["react"], ["react", "redux", "lodash"], ITEMS):
            ids = ",".join(history)
            self.same(self.recommend(history=history), "--history", ids)
            self.same(self.recommend(history=history, k=3, keep_seen=True),
                      "--history", ids, "-k", "3", "--keep-seen")
            self.same(self.recommend(history=history, popularity_power=-0.3),
                      "--history", ids, "--popularity-power", "-0.3")

    def test_reasons_are_those_of_the_program(self):
        self.same(self.recommend(history=["react", "redux", "lodash"], reasons=2),
                  "--history", "react,redux,lodash", "--reasons", "2")

    def test_allow_and_deny_are_those_of_the_program(self):
        write(f"{self.place}/allow", "webpack\nbabel\nexpress\n")
        write(f"{self.place}/deny", "babel\nnosuch\n")
        self.same(self.recommend(history=["react"], allow=["webpack", "babel", "express"],
                                 deny=["babel", "nosuch"]),
                  "--history", "react", "--allow", "allow", "--deny", "deny")
        self.assertEqual(self.recommend(history=["react"], allow=[]).json["items"], [])

    def test_tags_filter_as_in_the_program(self):
        self.same(self.recommend(history=["react"], only=["side=back"]),
                  "--history", "react", "--only", "side=back")
        self.same(self.recommend(history=["lodash"], **{"not": ["side=back"]}),
                  "--history", "lodash", "--not", "side=back")
        self.same(self.recommend(history=["lodash"], at_most={"side": 1}),
                  "--history", "lodash", "--at-most", "side=1")
        self.fails(422, "no_tags", self.recommend(history=["react"], only=["side=up"]))
        self.fails(422, "no_tags", self.recommend(history=["react"], at_most={"genre": 1}))

    def test_weights_count_as_a_sum(self):
        twice = self.recommend(history=[{"id": "react", "weight": 2}, "redux"]).json["items"]
        plain = self.recommend(history=["react", "redux"], reasons=9, k=100).json["items"]
        by_hand = {i["id" if "id" in i else "id_base64"]:
                   sum(r["contribution"] * (1 + (r["id"] == "react")) for r in i["reasons"])
                   for i in plain}
        for item in twice:
            key = item["id" if "id" in item else "id_base64"]
            self.assertAlmostEqual(item["score"], by_hand[key], delta=1e-5)
        self.assertEqual(
            self.recommend(history=[{"id": "react", "weight": 1},
                                    {"id": "react", "weight": 1}, "redux"]).json["items"],
            twice)

    def test_unknown_ids_are_listed_and_nothing_known_gets_the_popular(self):
        answer = self.recommend(history=["react", "nosuch", 17]).json
        self.assertEqual(answer["unknown"], ["nosuch", "17"])
        self.assertNotIn("fallback", answer)
        for history in ([], ["nosuch"]):
            answer = self.recommend(history=history, reasons=3).json
            self.assertEqual(answer["fallback"], "popular")
            self.assertTrue(all(i["reasons"] == [] for i in answer["items"]))

    def test_ids_of_any_bytes_travel_in_base64(self):
        coded = base64.b64encode(ODD).decode()
        answer = self.recommend(history=["react", STRANGE], k=100).json["items"]
        self.assertIn(coded, [i.get("id_base64") for i in answer])
        self.assertTrue(all(("id" in i) != ("id_base64" in i) for i in answer))
        self.same(self.recommend(history=["react", STRANGE], k=100),
                  "--history", "react," + STRANGE, "-k", "100")
        answer = self.recommend(history=[{"id_base64": coded}], reasons=1, k=1).json
        self.assertEqual((answer["unknown"], answer["items"][0]["reasons"][0]["id_base64"]),
                         ([], coded))
        self.fails(422, "bad_id", self.recommend(history=[{"id_base64": "AAAA"}]))
        for bad in ("", "Q", "QQ", "QQ=a", "Q Q=", "====", "QUJD="):
            self.fails(400, "bad_value", self.recommend(history=[{"id_base64": bad}]))

    def test_a_batch_gives_what_its_requests_give(self):
        wishes = [{"history": ["react"]}, {"history": ["express", "nosuch"], "reasons": 2},
                  {"history": []}, {"history": ["lodash"], "k": 2, "only": ["side=back"]}]
        answer = self.server.post("/v1/recommend", {"requests": wishes}).json
        alone = [self.server.post("/v1/recommend", w).json for w in wishes]
        for a in alone:
            a.pop("generation")
        self.assertEqual(answer["results"], alone)
        self.assertEqual(self.server.post("/v1/recommend", {"requests": []}).json["results"], [])

    def test_a_mistake_in_a_batch_concerns_one_result(self):
        answer = self.server.post("/v1/recommend", {"requests": [
            {"history": ["react"]}, {}, 7, {"history": ["react"], "model": "main"},
            {"history": ["react"], "k": 0}, {"user": "u1"}]})
        codes = [r.get("error", {}).get("code") for r in answer.json["results"]]
        self.assertEqual(codes, [None, "bad_value", "bad_value", "bad_value", "bad_value",
                                 "not_possible"])

    def test_values_must_be_what_they_are_for(self):
        for wrong in ({"k": 0}, {"k": 1001}, {"k": "3"}, {"k": 2.5}, {"k": None}, {"reasons": -1},
                      {"keep_seen": 1}, {"allow": "react"}, {"deny": [None]}, {"only": [""]},
                      {"at_most": 1}, {"at_most": {"side": 0}}, {"popularity_power": 11},
                      {"popularity_power": "0"}, {"history": "react"}, {"history": [""]},
                      {"history": [1.5]}, {"history": [["react"]]}, {"history": None},
                      {"history": [{"id": "react", "weight": "1"}]},
                      {"history": [{"id": "react", "count": 1}]}, {"history": [{"weight": 1}]},
                      {"history": [{"id": "a", "id_base64": "QQ=="}]}, {"kk": 3},
                      {"user": "u1"}, {"model": 3}):
            answer = self.recommend(**{"history": ["react"], **wrong})
            message = self.fails(400, "bad_value", answer)
            self.assertRegex(message, '"' + list(wrong)[0] + '"|history|weight|count')
        self.fails(400, "bad_value", self.recommend(k=3))
        self.fails(422, "not_possible", self.recommend(user="u1"))
        self.fails(404, "unknown_model", self.recommend(history=[], model="compare"))

    def test_bodies_must_be_json_objects_without_repeated_keys(self):
        for body in (b"{", b"", b"nonsense", b'{"history": []} x', b'{"history": ["\xff"]}',
                     b'{"history": ["\\u0000"]}', b'{"history": [], "history": []}',
                     b"[" * 100000, b'{"k": 99999999999999999999, "history": []}'):
            self.fails(400, "bad_json", self.server.post("/v1/recommend", body))
        for body in (b"[]", b"7", b'"react"', b"null"):
            self.assertIn(self.server.post("/v1/recommend", body).code, ("bad_value", "bad_json"))


class Items(Served):
    def found(self, text, k=10):
        answer = self.server.get("/v1/items?" + urllib.parse.urlencode({"search": text, "k": k}))
        self.assertEqual(answer.status, 200, answer)
        return [i.get("id") for i in answer.json["items"]]

    def test_search_ranks_the_whole_then_beginnings_words_and_parts(self):
        self.assertEqual(self.found("react")[0], "react")
        self.assertEqual(self.found("re")[:2], ["redux", "react"][::1 if self.popular() else -1])
        self.assertEqual(self.found("framework"), ["express"])
        self.assertEqual(self.found("  FRAMEWORK fast "), ["express"])
        self.assertEqual(self.found("asspo"), ["passport"])
        self.assertEqual(self.found("état"), self.found("etat"))
        self.assertEqual(self.found("réact the"), ["react"])
        self.assertEqual(self.found("no such thing"), [])

    def test_a_search_has_a_limit_and_repeated_words_count_once(self):
        def ask(text):
            return self.server.get("/v1/items?" + urllib.parse.urlencode({"search": text}))

        self.assertEqual(self.found("react " * 42), ["react"])
        self.assertEqual(self.found("first the réact THE " * 12), ["react"])
        self.assertEqual(ask("é" * 256).json["items"], [])
        self.assertIn("at most 256", self.fails(400, "bad_value", ask("é" * 257)))
        self.assertIn("at most 256", self.fails(400, "bad_value", ask("react " * 43)))
        self.assertEqual(ask(" ".join(map(str, range(16)))).json["items"], [])
        self.assertIn("at most 16", self.fails(400, "bad_value", ask(" ".join(map(str, range(17))))))
        searched = self.server.get("/openapi.json").json["paths"]["/v1/items"]["get"]["parameters"][0]
        self.assertEqual((searched["name"], searched["schema"]["maxLength"]), ("search", 256))
        self.assertIn('maxlength="256"', self.server.get("/").body.decode())

    def popular(self):
        return (self.server.get("/v1/items/redux").json["popularity"]
                > self.server.get("/v1/items/react").json["popularity"])

    def test_search_finds_every_item_by_every_beginning(self):
        for item in ITEMS:
            for n in range(1, len(item) + 1):
                self.assertIn(item, self.found(item[:n], 100))
                self.assertIn(item, self.found(item[n - 1:].upper(), 100))

    def test_an_empty_search_lists_the_popular(self):
        answer = self.server.get("/v1/items?k=3").json
        counts = [i["popularity"] for i in answer["items"]]
        self.assertEqual((len(counts), answer["more"]), (3, True))
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertFalse(self.server.get("/v1/items?k=1000").json["more"])

    def test_one_item_has_its_facts(self):
        item = self.server.get("/v1/items/react").json
        self.assertEqual((item["id"], item["title"], item["tags"]),
                         ("react", "Réact the first", ["side=front"]))
        self.fails(404, "unknown_item", self.server.get("/v1/items/nosuch"))

    def test_ids_of_any_bytes_stand_in_addresses(self):
        for raw in (ODD, STRANGE.encode()):
            quoted = urllib.parse.quote(raw, safe="")
            self.assertEqual(self.server.get(f"/v1/items/{quoted}").status, 200)
            self.assertEqual(self.server.get(f"/v1/items/{quoted}/similar").status, 200)
        self.fails(400, "bad_request", self.server.get("/v1/items/react%00"))
        self.fails(400, "bad_request", self.server.get("/v1/items/react%0"))
        self.fails(400, "bad_request", self.server.get("/v1/items/%zz"))

    def test_similar_items_are_those_of_the_program(self):
        for item in ("react", "express"):
            answer = self.server.get(f"/v1/items/{item}/similar?k=4").json
            self.assertEqual(answer["items"],
                             self.program("similar", item, "-k", "4")["items"])
            self.assertEqual(answer["id"], item)

    def test_explanations_add_up_and_are_those_of_the_program(self):
        answer = self.server.post("/v1/explain", {"history": ["react", "redux", "nosuch"],
                                                  "item": "webpack"}).json
        program = self.program("explain", "--history", "react,redux,nosuch", "webpack")
        self.assertEqual(answer["score"], program["score"])
        self.assertEqual([(r["id"], r["contribution"]) for r in answer["reasons"]],
                         [(r["id"], r["contribution"]) for r in program["reasons"]])
        self.assertEqual((answer["unknown"], answer["seen"]), (["nosuch"], False))
        listed = self.recommend(history=["react", "redux"], k=100).json["items"]
        self.assertEqual(listed[answer["rank"] - 1]["id"], "webpack")
        seen = self.server.post("/v1/explain", {"history": ["react"], "item": "react"}).json
        self.assertEqual((seen["rank"], seen["seen"]), (None, True))

    def test_explaining_needs_an_item_and_a_history(self):
        def explain(**body):
            return self.server.post("/v1/explain", body)

        self.fails(404, "unknown_item", explain(history=["react"], item="nosuch"))
        self.fails(400, "bad_value", explain(history=["react"]))
        self.fails(400, "bad_value", explain(item="react"))
        self.fails(400, "bad_value", explain(history=[], item="react", k=3))

    def test_parameters_are_checked(self):
        for target in ("/v1/items?k=0", "/v1/items?k=1001", "/v1/items?k=x", "/v1/items?k=1x",
                       "/v1/items?k=", "/v1/items?k=1&k=2", "/v1/items?count=1",
                       "/v1/items/react/similar?search=a", "/v1/model?k=1"):
            self.fails(400, "bad_value", self.server.get(target))
        self.fails(404, "unknown_model", self.server.get("/v1/model?model=compare"))


class Searching(Case):
    """A catalog of 100,000 items, against the same by hand."""

    ITEMS = 5000 if SANITIZED else 100000
    WORDS = ("amber", "basil", "cedar", "delta", "ember", "fable", "gamma", "hazel", "ivory", "jade")

    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        self.titles = {f"id{n}": " ".join(rng.choice(self.WORDS) + str(rng.randrange(1000))
                                          for _ in range(3)) for n in range(self.ITEMS)}
        self.write("ratings.csv", "user,item\n" + "".join(
            f"u{n % 997},id{n}\n" for n in range(self.ITEMS)))
        self.write("titles.csv", "id,title\n" + "".join(
            f"{i},{t}\n" for i, t in self.titles.items()))
        self.ease("train", "ratings.csv", "-o", "model.ease", "--model", "popularity", "-q",
                  "--titles", "titles.csv")

    def rank(self, item, text):
        """0: the whole is the text, 1: it begins so, 2: a word does, 3: it is within; None."""
        title = self.titles[item]
        if text not in title and text not in item:
            return None
        for rank, found in enumerate((text in (item, title),
                                      item.startswith(text) or title.startswith(text),
                                      any(w.startswith(text) for w in title.split()))):
            if found:
                return rank
        return 3

    def test_searching_a_large_catalog_finds_what_is_there(self):
        s = Server("model.ease", cwd=self.dir)
        client, took = s.client(), {}
        for text in ("a", "e", "am", "amb", "del", "azel99", "id12", "id123", "y7", "zzz", "absent text"):
            began = time.monotonic()
            answer = s.get("/v1/items?" + urllib.parse.urlencode({"search": text, "k": 20}),
                           client=client).json
            took[text] = time.monotonic() - began
            ranks = {i: r for i in self.titles if (r := self.rank(i, text)) is not None}
            got = [i["id"] for i in answer["items"]]
            self.assertEqual(len(got), min(20, len(ranks)), text)
            self.assertEqual(len(set(got)), len(got), text)
            # All have one user: within a rank, any order is right.
            self.assertEqual([ranks[i] for i in got], sorted(ranks.values())[:20], text)
            self.assertEqual(answer["more"], len(ranks) > 20, text)
        client.close()
        self.assertEqual(s.stop(), 0)
        if os.environ.get("EASE_TEST_TIMES"):
            print("  ms:", {text: round(1000 * t, 1) for text, t in took.items()}, flush=True)


class State(Served):
    def test_the_description_names_every_route_and_code(self):
        answer = self.server.get("/openapi.json")
        paths = answer.json["paths"]
        self.assertEqual(answer.json["openapi"], "3.1.0")
        for path, methods in paths.items():
            for method in methods:
                target = path.replace("{id}", "react")
                answer = self.server.ask(method.upper(), target,
                                         b"{}" if method == "post" else None)
                if answer.status == 404:
                    self.assertEqual(answer.code, "no_journal", path)
                self.assertNotEqual(answer.status, 405, path)
                self.assertIn(str(answer.status), methods[method]["responses"])

    def test_the_model_has_its_facts(self):
        facts, program = self.server.get("/v1/model").json, self.program("info")
        for key in ("method", "lambda", "items", "users", "interactions", "storage"):
            self.assertEqual(facts[key], program[key], key)
        self.assertEqual(facts["tag_kinds"], ["side"])
        self.assertEqual(sum(facts["weights"]["counts"]), facts["items"] * (facts["items"] - 1))
        self.assertEqual(facts["server"]["models"], ["main"])

    def test_the_page_has_a_strict_policy_and_a_tag(self):
        page = self.server.get("/")
        self.assertEqual(page.status, 200)
        self.assertIn("<html", page.body.decode())
        self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
        again = self.server.get("/", headers={"If-None-Match": page.headers["ETag"]})
        self.assertEqual((again.status, again.body), (304, b""))

    def test_no_directory_is_served(self):
        for target in ("/../etc/passwd", "/%2e%2e/etc/passwd", "/page/index.html", "//",
                       "/index.html/", "/server.c", "/a/b/c/d/e/f/g/h/i/j/k"):
            self.fails(404, "not_found", self.server.get(target))

    def test_other_methods_are_told_what_there_is(self):
        for method, target, allow in (("PUT", "/v1/model", "GET, HEAD"), ("DELETE", "/", "GET, HEAD"),
                                      ("GET", "/v1/recommend", "POST"), ("OPTIONS", "/v1/items", "GET, HEAD"),
                                      ("TRACE", "/healthz", "GET, HEAD")):
            answer = self.server.ask(method, target)
            self.fails(405, "method_not_allowed", answer)
            self.assertEqual(answer.headers["Allow"], allow)

    def test_head_is_get_without_the_body(self):
        for target in ("/", "/healthz", "/v1/items/react", "/v1/items/nosuch"):
            get, head = self.server.get(target), self.server.ask("HEAD", target)
            self.assertEqual((head.status, head.body), (get.status, b""))
            self.assertEqual(head.headers["Content-Length"], get.headers["Content-Length"])

    def test_health_and_metrics(self):
        self.assertEqual(self.server.get("/healthz").json, {"status": "ok"})
        self.assertEqual(self.server.get("/readyz").json, {"status": "ready"})
        name = 'ease_requests_total{route="/healthz",method="GET",status="2xx"}'
        before = self.server.metric(name)
        self.server.get("/healthz")
        self.assertEqual(self.server.metric(name), before + 1)
        text = self.server.get("/metrics").body.decode()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|\w+(\{[^{}]*(\{id\}[^{}]*)?\})? [-+.\deinf]+)$')
        for wanted in ("ease_memory_bytes", "ease_connections", "ease_queue_length",
                       'ease_model_generation{model="main"}'):
            self.assertGreaterEqual(self.server.metric(wanted), 0)

    def test_there_is_no_feedback_without_a_journal(self):
        self.fails(404, "no_journal", self.server.post(
            "/v1/feedback", {"events": [{"user": "u1", "item": "react"}]}))

    def test_connections_are_kept_alive(self):
        client = self.server.client()
        for _ in range(5):
            self.assertEqual(self.server.get("/healthz", client=client).status, 200)
            self.fails(404, "not_found", self.server.get("/nothing", client=client))
            self.fails(400, "bad_value", self.server.post("/v1/recommend", {}, client=client))
        client.close()


# ---- malformed requests --------------------------------------------------------------

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"history":["react"]}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
HIDDEN = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"

MALFORMED = {
    "two kinds of length": POST + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "the same the other way": POST + b"Transfer-Encoding: chunked\r\n" + LENGTH + b"\r\n0\r\n\r\n" + HIDDEN,
    "two lengths": POST + LENGTH + b"Content-Length: 5\r\n\r\n" + BODY + HIDDEN,
    "equal lengths": POST + 2 * LENGTH + b"\r\n" + BODY + HIDDEN,
    "a list of lengths": POST + b"Content-Length: 21, 21\r\n\r\n" + BODY + HIDDEN,
    "a blank before the colon": POST + b"Content-Length : 3\r\n\r\n" + BODY + HIDDEN,
    "a folded length": POST + b"Content-Length:\r\n 21\r\n\r\n" + BODY + HIDDEN,
    "a negative length": POST + b"Content-Length: -1\r\n\r\n" + BODY + HIDDEN,
    "a signed length": POST + b"Content-Length: +21\r\n\r\n" + BODY + HIDDEN,
    "a hexadecimal length": POST + b"Content-Length: 0x15\r\n\r\n" + BODY + HIDDEN,
    "an endless length": POST + b"Content-Length: 99999999999999999999\r\n\r\n" + BODY,
    "a blank behind a length": POST + b"Content-Length: 21 \r\n\r\n" + BODY + HIDDEN,
    "a tab behind a length": POST + b"Content-Length: 21\t\r\n\r\n" + BODY + HIDDEN,
    "an empty length": POST + b"Content-Length:\r\n\r\n" + HIDDEN,
    "a length with a blank": POST + b"Content-Length: 2 1\r\n\r\n" + BODY + HIDDEN,
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n" + HIDDEN,
    "two hosts": GET + b"Host: localhost\r\n\r\n" + HIDDEN,
    "a name with a blank": GET + b"X Y: 1\r\n\r\n" + HIDDEN,
    "a line without a colon": GET + b"nonsense\r\n\r\n" + HIDDEN,
    "a line without a name": GET + b": x\r\n\r\n" + HIDDEN,
    "a folded line": GET + b"X: a\r\n b\r\n\r\n" + HIDDEN,
    "a NUL in a header": GET + b"X: a\0b\r\n\r\n" + HIDDEN,
    "a NUL in the address": b"GET /healthz\0x HTTP/1.1\r\nHost: localhost\r\n\r\n" + HIDDEN,
    "a lone carriage return": GET + b"X: a\rTransfer-Encoding: chunked\r\n\r\n" + HIDDEN,
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: localhost\n\n" + HIDDEN,
    "a blank at the beginning": b" " + GET + b"\r\n" + HIDDEN,
    "an empty line at the beginning": b"\r\n" + GET + b"\r\n" + HIDDEN,
    "another version": b"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "a blank in the address": b"GET /healthz x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an address of another server": b"GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n"
                                    b"Connection: close\r\n\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "a repeated origin": GET + b"Origin: http://localhost\r\nOrigin: http://x\r\n\r\n" + HIDDEN,
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(50),
}


class Malformed(Served):
    OPTIONS = ("--header-timeout", "1", "--body-timeout", "1", "--idle-timeout", "2",
               "--max-connections", "40", "--max-body", "2000")

    def refused(self, data, status, code, **how):
        answer = self.server.raw(data, **how)
        self.assertEqual(statuses(answer), [status], answer)
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertIn(b"connection: close", head.lower())
        self.assertEqual(json.loads(body)["error"]["code"], code, answer)
        return body

    def test_malformed_requests_get_one_answer_and_the_end(self):
        for name, data in MALFORMED.items():
            with self.subTest(name):
                self.refused(data, 400, "bad_request")

    def test_they_are_found_however_they_are_divided(self):
        for name, data in MALFORMED.items():
            with self.subTest(name), self.server.connect() as s:
                try:
                    for i in range(0, len(data), 7):
                        s.sendall(data[i:i + 7])
                        time.sleep(0.0005)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                answer = read_all(s)
                self.assertIn(statuses(answer), ([400], []), answer)  # [] after a reset

    def test_chunks_are_told_to_come_with_a_length(self):
        self.refused(POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
                     411, "length_required")

    def test_good_requests_before_a_bad_one_are_answered(self):
        answer = self.server.raw(GET + b"\r\n" + POST + LENGTH + b"\r\n" + BODY + GET +
                                 b"X : 1\r\n\r\n" + HIDDEN)
        self.assertEqual(statuses(answer), [200, 200, 400], answer)

    def test_get_has_no_body(self):
        answer = self.server.raw(GET + b"Content-Length: 3\r\n\r\nabc" + GET +
                                 b"Connection: close\r\n\r\n")
        self.assertEqual(statuses(answer), [400, 200], answer)

    def test_pipelined_requests_are_answered_in_order(self):
        one = POST + LENGTH + b"\r\n" + BODY
        answer = self.server.raw(3 * one + GET + b"\r\n" + b"GET /x HTTP/1.1\r\nHost: localhost\r\n"
                                 b"Connection: close\r\n\r\n")
        self.assertEqual(statuses(answer), [200] * 4 + [404], answer)

    def test_headers_have_a_limit(self):
        for data in (GET + b"X: " + b"a" * 20000 + b"\r\n\r\n", GET + b"X: 1\r\n" * 5000 + b"\r\n",
                     b"GET /" + b"a" * 300000 + b" HTTP/1.1\r\n", GET + b"a" * 70000):
            self.refused(data, 431, "header_too_large")
        self.assertEqual(statuses(self.server.raw(
            GET + b"X: " + b"a" * 16000 + b"\r\nConnection: close\r\n\r\n")), [200])

    def test_headers_parameters_and_cookies_have_a_limit(self):
        def path(parameters):
            return b"GET /healthz?" + b"&".join(parameters) + b" HTTP/1.1\r\nHost: localhost\r\n"

        def cookies(count):
            return b"Cookie: " + b";".join(b"a=b" for _ in range(count)) + b"\r\n"

        for data in (GET + b"a:b\r\n" * 1000, path([b"a"] * 1000), path([b""] * 1000), GET + cookies(1000),
                     path([b"a=b"] * 60) + b"a:b\r\n" * 30 + cookies(60),
                     GET + b"a:b\r\n" * 128, path([b"a"] * 129), GET + cookies(128)):
            message = json.loads(self.refused(data + b"\r\n", 431, "header_too_large"))["error"]["message"]
            self.assertIn("at most 128", message)
        # All that is less, the host included, has space beside the longest header.
        space = b"X: %b\r\nConnection: close\r\n\r\n"
        for data, status in ((GET + b"a:b\r\n" * 125, 200), (path([b"a"] * 126), 400),
                             (path([b""] * 126), 200), (GET + cookies(125), 200),
                             (path([b""] * 60) + b"a:b\r\n" * 30 + cookies(35), 200)):
            for fill in (b"", b"x" * (16384 - len(data) - len(space) + 2)):
                answer = self.server.raw(data + space % fill)
                self.assertEqual(statuses(answer), [status], answer[:2000])
        long = GET + b"a:b\r\n" * 124 + b"Connection: close\r\nCookie: a=" + b"x" * 13000 + b";b=c\r\n\r\n"
        self.assertEqual(statuses(self.server.raw(long)), [200])
        pipelined = GET + b"a:b\r\n" * 126 + b"\r\n"
        answer = self.server.raw(pipelined * 200 + GET + b"Connection: close\r\n\r\n")
        self.assertEqual(statuses(answer), [200] * 201)

    def test_a_length_may_have_blanks_before_it(self):
        for blanks in (b"", b"   ", b"\t \t"):
            answer = self.server.raw(POST + b"Content-Length:" + blanks + b"%d\r\nConnection: close\r\n\r\n" %
                                     len(BODY) + BODY)
            self.assertEqual(statuses(answer), [200], answer)

    def test_long_bodies_are_refused_before_they_are_sent(self):
        for length in (b"2001\r\nExpect: 100-continue", b"99999999"):
            self.refused(POST + b"Content-Length: " + length + b"\r\n\r\n", 413, "too_large")
        answer = self.server.raw(POST + b"Content-Length: 2001\r\n\r\n" + b" " * 2001 + GET +
                                 b"Connection: close\r\n\r\n")
        self.assertEqual(statuses(answer), [413, 200], answer)
        answer = self.server.raw(POST + LENGTH + b"Expect: 100-continue\r\nConnection: close\r\n"
                                 b"\r\n" + BODY)
        self.assertEqual(statuses(answer), [100, 200], answer)

    def test_a_byte_a_second_does_not_keep_a_connection(self):
        for begin in (GET, POST + LENGTH + b"\r\n"):
            with self.server.connect() as s:
                started = time.monotonic()
                s.sendall(begin)
                s.settimeout(0.1)
                answer = b""
                while time.monotonic() < started + PATIENCE:
                    try:
                        s.sendall(b"x")
                        answer = s.recv(65536)
                        break
                    except TimeoutError:
                        continue
                    except OSError:
                        break
                self.assertIn(statuses(answer), ([408], []))
                self.assertLess(time.monotonic() - started, 60)

    def test_bytes_that_keep_arriving_do_not_extend_the_time_for_a_body(self):
        body = BODY + b" " * 1900
        with self.server.connect() as s:
            s.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body))
            try:
                for byte in body:
                    s.sendall(bytes((byte,)))
                    time.sleep(0.001)
            except OSError:
                pass
            answer = read_all(s)
        self.assertIn(statuses(answer), ([408], []), answer)

    def test_a_silent_connection_ends_without_an_answer(self):
        with self.server.connect() as s:
            self.assertEqual(read_all(s), b"")
        with self.server.connect() as s:  # and one that has been used
            s.sendall(GET + b"\r\n")
            self.assertEqual(statuses(read_all(s)), [200])

    def test_too_many_connections_are_told_so(self):
        held = [self.server.connect() for _ in range(40)]
        try:
            deadline = time.monotonic() + PATIENCE
            while True:
                answer = self.server.raw(GET + b"Connection: close\r\n\r\n")
                if statuses(answer) == [503] or time.monotonic() > deadline:
                    break
            self.assertEqual(statuses(answer), [503])
            self.assertIn(b"too_many_connections", answer)
        finally:
            for s in held:
                s.close()
        deadline = time.monotonic() + PATIENCE
        while statuses(self.server.raw(GET + b"Connection: close\r\n\r\n")) != [200]:
            self.assertLess(time.monotonic(), deadline)

    def test_clients_that_vanish_leave_nothing(self):
        before = self.server.descriptors()
        for data in (b"", GET[:9], GET + b"\r\n", POST + LENGTH + b"\r\n" + BODY[:5],
                     POST + LENGTH + b"\r\n" + BODY):
            for _ in range(5):
                s = self.server.connect()
                s.sendall(data)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                s.close()
        deadline = time.monotonic() + PATIENCE
        while self.server.descriptors() > before:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


def threads_time(pid):
    """The processor time of each thread, in nanoseconds."""
    spent = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as f:
            spent[thread] = int(f.read().split()[0])
    return spent


class Accepting(Served):
    OPTIONS = ("--threads", "2", "--max-connections", "60")

    def setUp(self):
        self.held = [self.server.client()]
        self.wait_for_threads()

    def tearDown(self):
        self.close(len(self.held))

    def open_at_once(self, count):
        """The server finds these connections together in the queue of its socket."""
        self.server.send(signal.SIGSTOP)
        self.held += [self.server.client() for _ in range(count)]
        self.server.send(signal.SIGCONT)

    def close(self, count):
        for _ in range(count):
            self.held.pop().close()

    def wait_for_threads(self, total=None):
        """The numbers of connections of the threads, when these are as many as are held."""
        deadline = time.monotonic() + PATIENCE
        while True:
            text = self.server.get("/metrics", client=self.held[0]).body.decode()
            counts = [int(n) for n in re.findall(r'(?m)^ease_thread_connections\{.*\} (\d+)$', text)]
            if sum(counts) == (total or len(self.held)):
                return counts
            self.assertLess(time.monotonic(), deadline, counts)

    def test_connections_are_dealt_out_evenly(self):
        self.open_at_once(15)
        self.assertEqual(self.wait_for_threads(), [8, 8])
        random.Random(7).shuffle(self.held)
        self.close(10)
        self.wait_for_threads()
        self.open_at_once(14)
        self.assertEqual(self.wait_for_threads(), [10, 10])

    def test_each_thread_does_its_share(self):
        self.open_at_once(15)
        for client in self.held:
            self.server.get("/healthz", client=client)
        before = threads_time(self.server.process.pid)
        for _ in range(20):
            for client in self.held:
                self.server.post("/v1/recommend", {"history": ["react"]}, client=client)
        after = threads_time(self.server.process.pid)
        spent = sorted(after[t] - before.get(t, 0) for t in after)
        self.assertGreater(spent[-2], spent[-1] / 3, spent)

    def test_more_than_can_be_accepted_wait(self):
        waiting = [self.server.connect() for _ in range(200)]
        self.assertEqual(self.wait_for_threads(60 + 64), [62, 62])
        for s in waiting:
            s.close()
        deadline = time.monotonic() + PATIENCE
        while self.server.get("/healthz").status != 200:  # accepted after all others
            self.assertLess(time.monotonic(), deadline)

    def test_without_descriptors_it_waits_for_some(self):
        pid = self.server.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        self.server.get("/healthz", client=self.held[0])
        resource.prlimit(pid, resource.RLIMIT_NOFILE,
                         (1 + max(int(n) for n in os.listdir(f"/proc/{pid}/fd")), limits[1]))
        self.held += [self.server.client() for _ in range(20)]
        self.server.wait_for_log("cannot accept connections: Too many open files")
        before = sum(threads_time(pid).values())
        time.sleep(0.5)
        self.assertLess(sum(threads_time(pid).values()) - before, 2e8)
        self.server.get("/healthz", client=self.held[0])
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        for client in self.held:
            self.assertEqual(self.server.get("/healthz", client=client).status, 200)
        self.assertEqual(len(re.findall("cannot accept", self.server.read_log())), 1)


class Limits(Served):
    OPTIONS = ("--max-k", "20", "--max-batch", "3", "--max-ids", "4")

    def test_each_limit_has_its_own_error(self):
        self.assertIn("20", self.fails(400, "bad_value", self.recommend(history=[], k=21)))
        self.assertIn("at most 3", self.fails(413, "too_large", self.server.post(
            "/v1/recommend", {"requests": [{"history": []}] * 4})))
        for name in ("history", "allow", "deny"):
            self.assertIn("at most 4", self.fails(413, "too_large", self.recommend(
                **{"history": [], name: ["a"] * 5})))
        self.fails(413, "too_large", self.server.post("/v1/recommend", b" " * ((1 << 20) + 1)))

    def test_events_that_are_too_many_for_the_journal_are_refused(self):
        s = Server("model.ease", "--journal", "large", "--max-body", "128MiB", "--max-events", "100000",
                   cwd=self.place)
        name = "a" * 60000
        answer = s.post("/v1/feedback", {"events": [{"user": name, "item": "react"}] * 1200})
        self.assertIn("send fewer at once", self.fails(413, "too_large", answer))
        answer = s.post("/v1/feedback", {"events": [{"user": name, "item": "react"}] * 1000})
        self.assertEqual((answer.status, answer.json["accepted"]), (200, 1000))
        self.assertEqual(s.stop(), 0)

    def test_answers_have_a_limit(self):
        s = Server("model.ease", "--max-answer", "20000", cwd=self.place)
        one = {"history": ITEMS[:6], "k": 5, "reasons": 5}
        size = len(s.post("/v1/recommend", one).body)
        self.assertLess(size, 2000)
        count = 20000 // size - 1
        self.assertEqual(s.post("/v1/recommend", {"requests": [one] * count}).status, 200)
        for body in ({"requests": [one] * (count + 4)}, {"requests": [one] * 256}):
            self.assertIn("ask for less", self.fails(413, "too_large", s.post("/v1/recommend", body)))
        self.assertEqual(s.stop(), 0)
        s = Server("model.ease", "--max-answer", "500", cwd=self.place)
        self.fails(413, "too_large", s.post("/v1/recommend", one))
        self.assertEqual(s.post("/v1/recommend", {"history": ["react"], "k": 2}).status, 200)
        self.assertEqual(s.stop(), 0)

    def test_an_answer_that_takes_too_long_is_given_up(self):
        s = Server("model.ease", "--request-timeout", "0.005", "--max-batch", "20000",
                   cwd=self.place)
        client = s.client()
        batch = {"requests": [{"history": ["react"]}] * 20000}
        answer = s.post("/v1/recommend", batch, client=client)
        self.assertIn("longer than the server allows", self.fails(503, "busy", answer))
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertEqual(s.post("/v1/recommend", {"history": ["react"]}, client=client).status, 200)
        client.close()
        self.assertEqual(s.stop(), 0)

    def test_connections_of_an_address_have_a_limit(self):
        r = alone_in_the_network("""
            def ask(source):
                c = socket.create_connection(("192.0.2.1", s.port), source_address=(source, 0))
                c.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                return c, c.recv(65536)

            s = Server("model.ease", "--no-auth", "--listen", "192.0.2.1:0", "--max-per-address", "3")
            held = [ask("192.0.2.2") for _ in range(4)]
            print([a.split()[1].decode() for _, a in held], b"too_many_connections" in held[3][1])
            print(ask("192.0.2.1")[1].split()[1].decode())
            held.pop(0)[0].close()
            end = time.monotonic() + PATIENCE
            while statuses(ask("192.0.2.2")[1]) != [200] and time.monotonic() < end:
                time.sleep(0.01)
            print(statuses(ask("192.0.2.1")[1]), time.monotonic() < end, s.stop())
        """, self.place)
        self.assertEqual((r.returncode, r.stdout), (
            0, "['200', '200', '200', '503'] True\n200\n[200] True 0\n"), r)


# ---- trust ---------------------------------------------------------------------------

class Loopback(Served):
    OPTIONS = ("--allow-origin", "https://shop.example")

    def with_headers(self, **headers):
        return self.server.get("/v1/items/react",
                               headers={k.replace("_", "-"): v for k, v in headers.items()})

    def test_the_host_must_be_of_the_loopback_interface(self):
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1", "127.9.8.7:8080", "[::1]",
                     "[::1]:80"):
            self.assertEqual(self.with_headers(Host=host).status, 200, host)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                     "127.0.0.1x", "localhost:80x", "[::1].evil", "[::1", "0.0.0.0", "127.1",
                     "user@localhost", "localhost:80:90", ""):
            self.fails(403, "forbidden", self.with_headers(Host=host or " "))

    def test_pages_of_other_sites_may_not_ask(self):
        self.assertEqual(self.with_headers(Host="localhost:99",
                                           Origin="http://localhost:99").status, 200)
        for origin in ("http://evil.example", "null", "http://localhost:1", "localhost:99",
                       "https://shop.example.evil"):
            self.fails(403, "forbidden", self.with_headers(Host="localhost:99", Origin=origin))

    def test_an_allowed_origin_gets_the_headers_of_cors(self):
        answer = self.with_headers(Origin="https://shop.example")
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://shop.example")
        answer = self.server.ask("OPTIONS", "/v1/recommend",
                                 headers={"Origin": "https://shop.example",
                                          "Access-Control-Request-Method": "POST"})
        self.assertEqual(answer.status, 204)
        self.assertIn("POST", answer.headers["Access-Control-Allow-Methods"])
        self.assertNotIn("Access-Control-Allow-Origin", self.with_headers().headers)

    def test_a_preflight_has_no_body(self):
        for length in 5, 3_000_000_000:  # which would be kept in memory, without a token
            answer = self.server.raw(b"OPTIONS /v1/recommend HTTP/1.1\r\nHost: localhost\r\n"
                                     b"Origin: https://shop.example\r\nConnection: close\r\n"
                                     b"Content-Length: %d\r\n\r\n" % length + b"12345")
            self.assertEqual(statuses(answer), [400], answer)

    def test_forms_cannot_post(self):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx",
                     "multipart/form-data; boundary=application/json", None):
            self.fails(415, "unsupported_media_type", self.server.post(
                "/v1/recommend", {"history": []}, headers={"Content-Type": kind}))
        self.assertEqual(self.server.post(
            "/v1/recommend", {"history": []},
            headers={"Content-Type": "Application/JSON; charset=utf-8"}).status, 200)


class Tokens(Served):
    OPTIONS = ("--listen", "0.0.0.0:0", "--token-file", "tokens")
    OTHER = "another-token-for-a-test"

    @classmethod
    def prepare(cls):
        cls.put(f"# tokens\n\n{TOKEN}\r\n{cls.OTHER}\n")

    @classmethod
    def put(cls, text, mode=0o600):
        write(f"{cls.place}/tokens", text)
        os.chmod(f"{cls.place}/tokens", mode)

    def status(self, token, target="/v1/model"):
        value = token if token is None or " " in token else f"Bearer {token}"
        return self.server.get(target, headers={"Authorization": value, "Host": "any.example"}).status

    def test_everything_but_the_open_routes_needs_a_token(self):
        for target in ("/v1/model", "/v1/items", "/v1/items/react", "/metrics"):
            answer = self.server.get(target)
            self.fails(401, "unauthorized", answer)
            self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
            self.assertEqual(self.status(TOKEN, target), 200)
        self.fails(401, "unauthorized", self.server.post("/v1/recommend", {"history": []}))
        self.fails(401, "unauthorized", self.server.post("/v1/reload", {}))
        for target in ("/", "/openapi.json", "/healthz", "/readyz"):
            self.assertEqual(self.status(None, target), 200)

    def test_tokens_are_compared_as_a_whole(self):
        self.assertEqual(self.status(self.OTHER), 200)
        self.assertEqual(self.status("bearer " + TOKEN), 200)
        for wrong in (TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "", "x" * 300, "Basic " + TOKEN,
                      "# tokens", "Bearer  "):
            self.assertEqual(self.status(wrong), 401, wrong)

    def test_sighup_reads_them_again_and_keeps_them_if_they_are_bad(self):
        try:
            self.put("a-new-token-of-a-test\n")
            self.server.send(signal.SIGHUP)
            self.server.wait_for_log("read the tokens again")
            self.assertEqual([self.status("a-new-token-of-a-test"), self.status(TOKEN)], [200, 401])
            self.put(TOKEN + "\n", 0o644)
            self.server.send(signal.SIGHUP)
            self.server.wait_for_log("tokens from before stay")
            self.assertEqual(self.status("a-new-token-of-a-test"), 200)
        finally:
            self.prepare()
            self.server.send(signal.SIGHUP)
            self.server.wait_for_log("read the tokens again", 2)


class Starting(Case):
    def setUp(self):
        super().setUp()
        self.write("ratings.csv", as_csv(small_pairs()))
        make(self.dir, "ratings.csv", "-o", "model.ease", "--lambda", "2")

    def refuses(self, code, pattern, *args):
        self.assertRegex(self.fails(code, pattern, "serve", *args).err, pattern)

    def test_what_cannot_be_served_ends_with_a_message(self):
        self.refuses(2, "MODEL is missing")
        self.refuses(1, "nosuch.ease", "nosuch.ease", "--listen", "127.0.0.1:0")
        self.refuses(3, "ratings.csv", "ratings.csv", "--listen", "127.0.0.1:0")
        self.refuses(2, "expected HOST:PORT", "model.ease", "--listen", "127.0.0.1")
        self.refuses(2, "expected HOST:PORT", "model.ease", "--listen", "127.0.0.1:x")
        self.refuses(2, "expected HOST:PORT", "model.ease", "--listen", "::1:80")
        self.refuses(2, "--listen no.such.host.invalid:1", "model.ease", "--listen",
                     "no.such.host.invalid:1")
        self.refuses(2, "--live needs", "model.ease", "--live")
        self.refuses(2, "belong to --users", "model.ease", "--min-rating", "3")
        self.refuses(1, "nosuch.csv", "model.ease", "--listen", "127.0.0.1:0", "--users", "nosuch.csv")

    def test_other_addresses_need_a_token_or_no_auth(self):
        for address in ("0.0.0.0:0", ":0"):
            self.refuses(2, "--token-file FILE is required", "model.ease", "--listen", address)
        self.write("tokens", TOKEN + "\n")
        self.refuses(1, "chmod o=", "model.ease", "--listen", "127.0.0.1:0", "--token-file", "tokens")
        os.chmod(self.path("tokens"), 0o640)
        self.refuses(2, "exclude", "model.ease", "--listen", "127.0.0.1:0", "--token-file", "tokens",
                     "--no-auth")
        for bad in ("", "short\n", "a token with blanks in it\n"):
            self.write("tokens", bad)
            self.refuses(1, "token", "model.ease", "--listen", "127.0.0.1:0", "--token-file", "tokens")
        s = Server("model.ease", "--listen", "0.0.0.0:0", "--no-auth", cwd=self.dir)
        self.assertEqual(s.get("/v1/model", headers={"Host": "any.example"}).status, 200)
        self.assertEqual(s.stop(), 0)

    def test_an_address_in_use_is_named(self):
        s = Server("model.ease", cwd=self.dir)
        self.refuses(1, "another program listens", "model.ease", "--listen", f"127.0.0.1:{s.port}")
        self.assertEqual(s.stop(), 0)

    def test_the_unix_socket_of_a_server_that_is_starting_stays_its_own(self):
        with self.starting("--unix", "sock") as made:
            for _ in range(3):
                self.refuses(1, "another program listens", "nosuch.ease", "--unix", "sock")
        s = made.result()
        self.assertEqual(s.get("/healthz", headers={"Host": "localhost"}).status, 200)
        self.assertEqual(s.stop(), 0)
        self.assertFalse(os.path.exists(self.path("sock")))

    def test_the_unix_socket_of_another_server_stays_at_the_end(self):
        first = Server("model.ease", "--unix", "sock", cwd=self.dir)
        os.remove(self.path("sock"))
        second = Server("model.ease", "--unix", "sock", cwd=self.dir)
        self.assertEqual(first.stop(), 0)
        self.assertEqual(second.get("/healthz", headers={"Host": "localhost"}).status, 200)
        self.assertEqual(second.stop(), 0)
        self.assertFalse(os.path.exists(self.path("sock")))

    def test_a_unix_socket_is_served_and_removed(self):
        for _ in range(2):
            s = Server("model.ease", "--unix", "sock", cwd=self.dir)
            self.assertEqual(s.get("/v1/items/react", headers={"Host": "localhost"}).status, 200)
            self.assertEqual(stat.S_IMODE(os.stat(self.path("sock")).st_mode), 0o660)
            self.refuses(1, "another program listens", "model.ease", "--unix", "sock")
            self.assertEqual(s.stop(), 0)
            self.assertFalse(os.path.exists(self.path("sock")))
            left = socket.socket(socket.AF_UNIX)  # that of a server that was killed
            left.bind(self.path("sock"))
            left.close()
        self.refuses(2, "is not a socket", "model.ease", "--unix", "ratings.csv")

    @contextlib.contextmanager
    def starting(self, *args):
        """A server that has opened its model, and gets the titles at the end."""
        os.mkfifo(self.path("titles"))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            made = pool.submit(Server, "model.ease", "--titles", "titles", *args, cwd=self.dir)
            with open(self.path("titles"), "w") as fifo:  # waits for the server
                yield made
                self.write("next", "id,title\nreact,the first\n")
                os.replace(self.path("next"), self.path("titles"))  # for later models
                fifo.write("id,title\nreact,the first\n")
            made.result()

    def test_a_model_that_is_replaced_during_the_start_is_served(self):
        make(self.dir, "ratings.csv", "-o", "other.ease", "--lambda", "50")
        with self.starting() as made:
            os.replace(self.path("other.ease"), self.path("model.ease"))
        s = made.result()
        s.wait_for_log("serving model.ease again")
        self.assertEqual(s.get("/v1/model").json["lambda"], 50)
        self.assertEqual(s.stop(), 0)

    def test_a_passed_socket_is_served(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            script = ("import os, sys\nos.dup2(int(sys.argv[1]), 3)\n"
                      "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
                      "os.execv(sys.argv[2], sys.argv[2:])\n")
            p = subprocess.Popen(["/usr/bin/python3", "-c", script, str(listening.fileno()), EASE,
                                  "serve", "model.ease"], cwd=self.dir, stderr=subprocess.DEVNULL,
                                 pass_fds=(listening.fileno(),))
        client = Server.client
        s = Server.__new__(Server)
        s.unix, s.host, s.port = None, "127.0.0.1", port
        self.assertEqual(s.get("/healthz", client=client(s)).status, 200)
        p.terminate()
        self.assertEqual(p.wait(PATIENCE), 0)

    def test_the_service_manager_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("notify"))
            manager.settimeout(PATIENCE)
            s = Server("model.ease", cwd=self.dir, env={"NOTIFY_SOCKET": self.path("notify")})
            self.assertEqual(manager.recv(100), b"READY=1")
            s.send(signal.SIGTERM)
            self.assertEqual(manager.recv(100), b"STOPPING=1")
            self.assertEqual(s.wait(), 0)

    def test_the_program_passes_on_what_it_was_given(self):
        by_verb, by_hand = self.ease("serve", "--help"), subprocess.run(
            [EASE + "-serve", "--help"], capture_output=True, text=True, check=True)
        self.assertEqual(by_verb.out, by_hand.stdout)

    def test_every_line_of_the_log_is_an_object(self):
        s = Server("model.ease", "--log-requests", cwd=self.dir)
        s.get("/v1/items/%22%0A%ff")
        self.assertEqual(s.stop(), 0)
        lines = [json.loads(line) for line in s.read_log().splitlines()]
        request = next(line for line in lines if "target" in line)
        self.assertEqual((request["method"], request["status"], request["target"]),
                         ("GET", 404, "/v1/items/%22%0A%ff"))

    def test_the_log_is_text_on_a_terminal(self):
        ours, theirs = os.openpty()
        p = subprocess.Popen([EASE, "serve", "model.ease", "--listen", "127.0.0.1:0"], cwd=self.dir,
                             stdin=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        said = b""
        while b" at http://" not in said or not said.endswith(b"\n"):
            said += os.read(ours, 1000)
        p.terminate()
        self.assertEqual(p.wait(PATIENCE), 0)
        os.close(ours)
        self.assertRegex(said.decode(), r"\Aease: [^{]*serving model\.ease[^\n]* at http://127\.0\.0\.1:\d+/")
        self.assertNotIn("{", said.decode())

    def test_the_form_of_the_log_can_be_chosen(self):
        for form, pattern in (("text", r"\Aease: "), ("json", r'\A\{"time": ')):
            r = subprocess.run([EASE, "serve", "nosuch.ease", "--log", form], cwd=self.dir, text=True,
                               capture_output=True, check=False)
            self.assertRegex(r.stderr, r"\Aease: ", form)
            with open(self.path("log"), "w") as log:
                p = subprocess.Popen([EASE, "serve", "model.ease", "--listen", "127.0.0.1:0", "--log", form],
                                     cwd=self.dir, stdin=subprocess.DEVNULL, stderr=log)
            while "serving" not in self.read("log").decode():
                self.assertIsNone(p.poll())
                time.sleep(0.01)
            p.terminate()
            self.assertEqual(p.wait(PATIENCE), 0)
            self.assertRegex(self.read("log").decode(), pattern)

    def test_the_program_needs_no_library_of_the_server(self):
        def needed(program):
            return subprocess.run(["ldd", program], text=True, check=True, capture_output=True).stdout

        for library in ("libmicrohttpd", "libjansson", "libgnutls"):
            self.assertNotIn(library, needed(EASE))
            self.assertIn(library, needed(EASE + "-serve"))


# ---- swaps ---------------------------------------------------------------------------

class Swapping(Served):
    OPTIONS = ("--compare", "other.ease")

    def generation(self):
        return self.server.get("/v1/model").json["generation"]

    def wait_for(self, generation):
        end = time.monotonic() + PATIENCE
        while self.generation() < generation:
            self.assertLess(time.monotonic(), end, self.server.read_log())
            time.sleep(0.02)

    def replace(self, with_file):
        shutil.copy(f"{self.place}/{with_file}", f"{self.place}/next")
        os.replace(f"{self.place}/next", f"{self.place}/model.ease")

    def setUp(self):
        super().setUp()
        if not os.path.exists(f"{self.place}/first.ease"):
            shutil.copy(f"{self.place}/model.ease", f"{self.place}/first.ease")

    def tearDown(self):
        before = self.generation()
        self.replace("first.ease")
        self.server.post("/v1/reload", {})
        self.assertGreater(self.generation(), before)

    def test_a_replaced_file_is_served(self):
        before = self.generation()
        self.replace("other.ease")
        self.wait_for(before + 1)
        self.assertEqual(self.server.get("/v1/model").json["lambda"], 50)

    def test_a_file_written_in_place_is_served_when_it_is_complete(self):
        before = self.generation()
        with open(f"{self.place}/other.ease", "rb") as f:
            write(f"{self.place}/model.ease", f.read())
        self.wait_for(before + 1)
        self.assertEqual(self.server.get("/v1/model").json["lambda"], 50)

    def test_sighup_and_requests_load_again(self):
        before = self.generation()
        self.server.send(signal.SIGHUP)
        self.wait_for(before + 1)
        answer = self.server.post("/v1/reload", {})
        self.assertEqual(answer.json, {"generation": before + 2})
        self.fails(400, "bad_value", self.server.post("/v1/reload", {"path": "other.ease"}))

    def test_a_bad_file_is_refused_and_the_old_model_stays(self):
        before, list_before = self.generation(), self.recommend(history=["react"]).json
        failures = self.server.metric("ease_reload_failures_total")
        with open(f"{self.place}/first.ease", "rb") as f:
            good = f.read()
        for bad in (b"", b"nonsense", good[:-100], good[:4096] + b"x" + good[4097:]):
            write(f"{self.place}/next", bad)
            os.replace(f"{self.place}/next", f"{self.place}/model.ease")
            message = self.fails(503, "reload_failed", self.server.post("/v1/reload", {}))
            self.assertIn("still served", message)
            self.assertEqual(self.recommend(history=["react"]).json, list_before)
        self.assertEqual(self.generation(), before)
        self.assertGreaterEqual(self.server.metric("ease_reload_failures_total"), failures + 4)
        os.remove(f"{self.place}/model.ease")
        self.fails(503, "reload_failed", self.server.post("/v1/reload", {}))

    def failures(self):
        return self.server.metric("ease_reload_failures_total")

    def test_a_file_that_cannot_be_opened_for_a_while_is_tried_again(self):
        before, failed = self.generation(), self.failures()
        pid, pattern = self.server.process.pid, "stays, and the file is tried again in"
        said = self.server.read_log().count(pattern)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            self.replace("other.ease")
            self.server.wait_for_log(pattern, said + 2)
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        self.wait_for(before + 1)
        self.assertEqual(self.server.get("/v1/model").json["lambda"], 50)
        self.assertGreaterEqual(self.failures(), failed + 2)

    def test_a_bad_file_is_tried_once(self):
        before, failed = self.generation(), self.failures()
        write(f"{self.place}/next", b"nonsense")
        os.replace(f"{self.place}/next", f"{self.place}/model.ease")
        end = time.monotonic() + PATIENCE
        while self.failures() == failed:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        time.sleep(3.5)
        self.assertEqual((self.failures(), self.generation()), (failed + 1, before))

    def test_a_truncated_file_harms_nobody(self):
        list_before = self.recommend(history=["react"]).json["items"]
        os.truncate(f"{self.place}/model.ease", 0)
        self.assertEqual(self.recommend(history=["react"]).json["items"], list_before)

    def test_two_models_are_served_beside_each_other(self):
        lambdas = [self.server.get(f"/v1/model?model={m}").json["lambda"] for m in ("main", "compare")]
        self.assertEqual(lambdas, [2, 50])
        one, other = (self.recommend(history=["react"], model=m).json["items"]
                      for m in ("main", "compare"))
        self.assertNotEqual(one, other)
        self.assertEqual(self.server.get("/v1/items/react/similar?model=compare").status, 200)

    def test_no_request_fails_while_models_are_swapped(self):
        answers = {}
        for name in ("first.ease", "other.ease"):
            r = run("recommend", name, "--history", "react,lodash", "--json", cwd=self.place)
            answers[name] = [(i.get("id"), i["score"]) for i in json.loads(r.out)["items"]]
        stop, wrong, count = threading.Event(), [], [0]

        def ask():
            client = self.server.client()
            while not stop.is_set():
                a = self.server.post("/v1/recommend", {"history": ["react", "lodash"]}, client=client)
                got = [(i.get("id"), i["score"]) for i in a.json.get("items", [])]
                if got not in answers.values():
                    wrong.append(a)
                count[0] += 1
            client.close()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            clients = [pool.submit(ask) for _ in range(4)]
            try:
                for n in range(10):
                    self.replace("other.ease" if n % 2 else "first.ease")
                    self.assertEqual(self.server.post("/v1/reload", {}).status, 200)
            finally:
                stop.set()
        for client in clients:
            client.result()  # no connection was reset
        self.assertEqual(wrong, [])
        self.assertGreater(count[0], 20)


class Mapped(Case):
    """Weights that are mapped from the file: those of more than 16 MiB."""

    def setUp(self):
        super().setUp()
        self.ease("synth", "-o", "data.csv", "--users", 2000, "--items", 2200, "--interactions",
                  300000, "-q")
        for name, shrinkage in (("model.ease", 0), ("other.ease", 100)):
            self.ease("train", "data.csv", "-o", name, "--model", "item-item", "--set",
                      f"neighbours=2100,shrinkage={shrinkage}", "-q")
        self.assertGreater(os.path.getsize(self.path("other.ease")), 17 << 20)

    def mapped(self, server):
        """Bytes of the server that are mapped from the file."""
        with open(f"/proc/{server.process.pid}/maps") as f:
            return sum(int(end, 16) - int(begin, 16) for begin, end in
                       (line.split()[0].split("-") for line in f if "/model.ease" in line))

    def lists(self, server):
        return [server.post("/v1/recommend", {"history": h, "reasons": 2, "k": 50}).json["items"]
                for h in (["1"], ["2", "3", "500"], [str(i) for i in range(1, 400)])]

    def test_lists_from_a_mapped_file_are_the_same_and_it_can_be_replaced(self):
        mapping, reading = Server("model.ease", "--mmap", cwd=self.dir), Server("model.ease", cwd=self.dir)
        self.assertGreater(self.mapped(mapping), 16 << 20)
        self.assertLess(self.mapped(reading), 1 << 20)
        before = self.lists(mapping)
        self.assertTrue(before == self.lists(reading))
        self.assertEqual([len(items) for items in before], [50] * 3)
        os.replace(self.path("other.ease"), self.path("model.ease"))
        for s in (mapping, reading):  # which may have noticed the file before
            self.assertGreaterEqual(s.post("/v1/reload", {}).json["generation"], 2)
        after = self.lists(mapping)
        self.assertTrue(after == self.lists(reading))
        self.assertFalse(any(a == b for a, b in zip(after, before)))
        self.assertGreater(self.mapped(mapping), 16 << 20)
        for s in (mapping, reading):
            self.assertEqual(s.stop(), 0)


# ---- users and feedback --------------------------------------------------------------

class Feedback(Served):
    OPTIONS = ("--users", "ratings.csv", "--journal", "journal", "--max-events", "5")

    def feed(self, *events):
        return self.server.post("/v1/feedback", {"events": list(events)})

    def test_known_users_get_the_lists_of_the_program(self):
        r = run("recommend", "model.ease", "--users", "ratings.csv", "--json", cwd=self.place)
        lists = {w["user"]: w["items"] for w in map(json.loads, r.out.splitlines())}
        self.assertEqual(len(lists), 60)
        for user, items in lists.items():
            answer = self.recommend(user=user)
            self.assertEqual(answer.status, 200, answer)
            if user not in ("u1", "u2", "u3"):  # other tests change their histories
                self.assertEqual(answer.json["items"], items, user)
        self.fails(404, "unknown_user", self.recommend(user="nobody"))
        self.fails(400, "bad_value", self.recommend(user="u1", history=[]))

    def test_feedback_changes_the_history_at_once(self):
        answer = self.feed({"user": "u1", "item": "mongoose"}, {"user": "u1", "item": "express"},
                           {"user": "u1", "item": "mongoose", "remove": True})
        self.assertEqual((answer.json["accepted"], answer.json["duplicates"]), (3, 0))
        explained = self.server.post("/v1/explain", {"user": "u1", "item": "express"}).json
        self.assertTrue(explained["seen"])
        self.assertNotIn("express", [i.get("id") for i in self.recommend(user="u1", k=100).json["items"]])
        self.assertIn("mongoose", [i.get("id") for i in self.recommend(user="u1", k=100).json["items"]])

    def test_new_users_are_known_by_their_feedback(self):
        self.feed({"user": 77, "item": "react"}, {"user": "77", "item": "redux"},
                  {"user": "77", "item": "not yet known"})
        self.assertEqual(self.recommend(user=77).json["items"],
                         self.recommend(history=["react", "redux"]).json["items"])

    def test_events_with_an_id_count_once(self):
        event = {"user": "u2", "item": "babel", "event_id": "e-1"}
        first, second = self.feed(event).json, self.feed(event, {"user": "u2", "item": "react"}).json
        self.assertEqual((first["accepted"], second["accepted"], second["duplicates"]), (1, 1, 1))
        self.assertEqual(second["sequence"], first["sequence"] + 1)

    def test_bad_events_are_named_and_none_is_kept(self):
        good = {"user": "u3", "item": "react"}
        before = self.feed(good).json["sequence"]
        for bad in ({"user": "u3"}, {"item": "react"}, {**good, "weight": 0}, {**good, "weight": "1"},
                    {**good, "remove": True, "weight": 1}, {**good, "remove": 1}, {**good, "x": 1},
                    {**good, "event_id": ""}, {**good, "user": ""}, 7, []):
            message = self.fails(400, "bad_value", self.feed(good, bad))
            self.assertIn("event 1:", message)
        self.fails(400, "bad_value", self.feed())
        self.fails(413, "too_large", self.feed(*[good] * 6))
        self.fails(400, "bad_value", self.server.post("/v1/feedback", {"events": [good], "k": 1}))
        self.assertEqual(self.feed(good).json["sequence"], before + 1)

    def test_acknowledged_events_survive_kill(self):
        place = os.path.join(self.dir, "j")
        options = ("--users", "ratings.csv", "--journal", place)
        acknowledged = 0
        for n in range(3):
            s = Server("model.ease", *options, cwd=self.place)
            for i in range(20):
                s.post("/v1/feedback", {"events": [{"user": f"k{n}-{i}", "item": "react"}]})
                acknowledged += 1
            s.process.kill()
            s.process.wait()
        s = Server("model.ease", *options, cwd=self.place)
        self.assertIn(f"{acknowledged} events", s.read_log())
        for n in range(3):
            for i in range(20):
                self.assertEqual(s.post("/v1/recommend", {"user": f"k{n}-{i}"}).status, 200)
        self.assertEqual(s.stop(), 0)

    def test_one_server_writes_a_journal(self):
        r = run("serve", "model.ease", "--listen", "127.0.0.1:0", "--journal", "journal", cwd=self.place)
        self.assertEqual(r.code, 1, r)
        self.assertIn("journal", r.err)

    def test_many_clients_are_acknowledged_together(self):
        def feed(n):
            return [self.feed({"user": f"m{n}", "item": i}).json["accepted"] for i in ITEMS]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(feed, range(16))), [[1] * len(ITEMS)] * 16)
        for n in range(16):
            self.assertEqual(self.server.post("/v1/explain", {"user": f"m{n}", "item": "react"}).json["seen"], True)


class Live(Case):
    def setUp(self):
        super().setUp()
        self.pairs = small_pairs()
        self.write("ratings.csv", as_csv(self.pairs))
        if "--updatable" not in self.ease("train", "--help").out:
            self.skipTest("this ease cannot train an updatable model")
        self.train("ratings.csv", "model.ease")

    def train(self, data, model):
        make(self.dir, data, "-o", model, "--lambda", "2", "--updatable", "--storage", "packed")

    def serve(self, every=0.2):
        return Server("model.ease", "--users", "ratings.csv", "--journal", "journal", "--live",
                      "--update-every", every, cwd=self.dir)

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

    def test_the_model_follows_the_feedback_and_no_event_counts_twice(self):
        server = self.serve()
        self.compare(server, self.pairs)
        server.post("/v1/feedback", {"events": [
            {"user": "new", "item": "react"}, {"user": "new", "item": "express"},
            {"user": "new", "item": "brand-new"}, {"user": "u1", "item": "passport"},
            {"user": self.pairs[0][0], "item": self.pairs[0][1], "remove": True}]})
        after = [p for p in self.pairs[1:] if p != ("u1", "passport")]
        after += [("u1", "passport")] + [("new", i) for i in ("react", "express", "brand-new")]
        server.wait_for_log("update 1:")
        self.compare(server, after)
        self.assertEqual(server.get("/v1/items/brand-new").json["popularity"], 1)
        self.assertEqual(server.post("/v1/reload", {}).code, "not_possible")
        server.process.kill()
        server.process.wait()
        server = self.serve()  # from the old model and the journal
        server.wait_for_log("update 1:")
        self.compare(server, after)
        self.assertEqual(server.stop(), 0)

    def test_other_data_are_refused(self):
        self.write("ratings.csv", as_csv(self.pairs[:-1]))
        r = self.ease("serve", "model.ease", "--users", "ratings.csv", "--journal", "journal",
                      "--live", "--listen", "127.0.0.1:0", code=3)
        self.assertIn("ease: ", r.err)


class KnownUsers(Case):
    def test_a_model_that_knows_its_users_recommends_to_them_only(self):
        self.write("ratings.csv", as_csv(small_pairs()))
        make(self.dir, "ratings.csv", "-o", "model.ease", "--model", "lrec")
        s = Server("model.ease", cwd=self.dir)
        r = self.ease("recommend", "model.ease", "--user", "u7", "--json")
        answer = s.post("/v1/recommend", {"user": "u7"})
        self.assertEqual(answer.json["items"], json.loads(r.out)["items"])
        self.assertEqual(s.post("/v1/recommend", {"history": ["react"]}).code, "not_possible")
        self.assertEqual(s.post("/v1/recommend", {"user": "u7", "reasons": 1}).code, "not_possible")
        self.assertEqual(s.post("/v1/recommend", {"user": "nobody"}).code, "unknown_user")
        self.assertEqual(s.post("/v1/explain", {"user": "u7", "item": "react"}).code, "not_possible")
        self.assertEqual(s.stop(), 0)


# ---- ending --------------------------------------------------------------------------

class Ending(Served):
    def setUp(self):
        super().setUp()
        self.own = Server("model.ease", "--grace", "60", cwd=self.place)

    def test_a_request_under_way_is_answered(self):
        with self.own.connect() as s:
            s.sendall(POST + LENGTH + b"\r\n" + BODY[:5])
            time.sleep(0.3)
            self.own.send(signal.SIGTERM)
            self.own.wait_for_log("answering what is under way")
            time.sleep(0.3)
            s.sendall(BODY[5:])
            answer = read_all(s)
        self.assertEqual(statuses(answer), [200], answer)
        self.assertIn(b"Connection: close", answer)
        self.assertEqual(self.own.wait(), 0)

    def test_nothing_is_accepted_any_more(self):
        idle = self.own.client()
        self.own.get("/healthz", client=idle)
        with self.own.connect() as s:
            s.sendall(POST + LENGTH + b"\r\n" + BODY[:5])
            time.sleep(0.3)
            self.own.send(signal.SIGTERM)
            self.own.wait_for_log("answering what is under way")
            self.assertEqual(idle.sock.recv(10), b"")
            s.sendall(BODY[5:])
            read_all(s)
        self.assertEqual(self.own.wait(), 0)
        with self.assertRaises(ConnectionRefusedError):
            self.own.connect()

    def test_interrupts_end_it_too(self):
        self.assertEqual(self.own.stop(signal.SIGINT), 0)

    def test_what_takes_too_long_is_given_up(self):
        self.own.stop()
        s = Server("model.ease", "--grace", "0.5", cwd=self.place)
        with s.connect() as c:
            c.sendall(POST + LENGTH + b"\r\n" + BODY[:5])
            time.sleep(0.3)
            self.assertEqual(s.stop(), 1)
        self.assertIn("not answered within the grace period", s.read_log())

    def tearDown(self):
        self.own.stop()


class Load(Served):
    def test_answers_have_the_same_bits_under_load(self):
        wishes = [{"history": h, "k": 5, "reasons": 2}
                  for h in (["react"], ["redux", "lodash"], ["express", "babel"], ITEMS[:6])]
        wanted = [self.recommend(**w).body for w in wishes]

        def ask(n):
            client = self.server.client()
            got = [self.server.post("/v1/recommend", wishes[(n + i) % 4], client=client).body
                   == wanted[(n + i) % 4] for i in range(20 if SANITIZED else 200)]
            client.close()
            return all(got)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(ask, range(8))))

    def test_idle_connections_do_no_harm(self):
        held = [self.server.connect() for _ in range(1000)]
        try:
            answers = [self.server.get("/healthz").status for _ in range(50)]
        finally:
            for s in held:
                s.close()
        self.assertEqual(answers, [200] * 50)


class Soak(unittest.TestCase):
    """bench/soak.py for some seconds; make soak is longer."""

    def test_all_at_once_fails_no_request_and_leaves_nothing(self):
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        done = subprocess.run([sys.executable, os.path.join(root, "bench", "soak.py"), "--python",
                               "--seconds", "8", "--swap-every", "1"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    main()
