"""`ease journal`: the events of a journal as text, CSV and JSON, and applied to data."""
import json
import os
import shutil

import support

# What tests/corpus/journal/events contains.
EVENTS = [["1", "2023-11-14T22:13:20.000Z", "set", b"u1", b"express", "1", ""],
          ["2", "2023-11-14T22:13:20.001Z", "remove", b"u1", b"express", "", "e-2"],
          ["3", "2023-11-14T22:13:20.002Z", "set", b"\xff\xfe", b"mongoose", "-2.5", "e-3"]]


class Feedback(support.Case):
    def setUp(self):
        super().setUp()
        self.place("events")

    def place(self, seed):
        os.makedirs(self.path("j"), exist_ok=True)
        shutil.copy(os.path.join(support.ROOT, "tests/corpus/journal", seed),
                    self.path("j/0000000001.journal"))

    def csv_rows(self, *args):
        out = self.ease("journal", "j", "--csv", *args).raw
        return [line.split(b",") for line in out.splitlines()]

    def test_events_are_listed_as_they_are(self):
        head, *rows = self.csv_rows()
        self.assertEqual(b",".join(head), b"sequence,time,event,user,item,weight,event_id")
        self.assertEqual(rows, [[f if isinstance(f, bytes) else f.encode() for f in e]
                                for e in EVENTS])
        self.assertEqual(self.csv_rows("--after", 2)[1:], rows[2:])
        self.assertEqual(self.csv_rows("--after", 9)[1:], [])
        text = self.ease("journal", "j")
        self.assertEqual(len(text.out.splitlines()), 3)
        self.assertIn("remove  u1  express", text.out)
        self.assertIn("3 events, numbers 1 to 3", text.err)
        events = json.loads(self.ease("journal", "j", "--json").raw.decode("utf-8", "replace"))
        self.assertEqual([e["sequence"] for e in events], [1, 2, 3])
        self.assertEqual(events[1], {"sequence": 2, "time": EVENTS[1][1], "event": "remove",
                                     "user": "u1", "item": "express", "event_id": "e-2"})

    def test_events_are_applied_to_data(self):
        self.write("data.csv", "user,item\nu1,express\nu1,koa\nu2,express\nu2,koa\n")
        r = self.ease("journal", "j", "--users", "data.csv", "-o", "new.csv")
        self.assertIn("4 interactions of 3 users", r.err)
        with open(self.path("new.csv"), "rb") as f:
            self.assertEqual(sorted(f.read().split()), sorted(
                [b"user,item", b"u1,koa", b"u2,express", b"u2,koa", b"\xff\xfe,mongoose"]))

    def test_weights_of_events_are_kept_with_those_of_the_data(self):
        self.write("data.csv", "user,item,value\nu1,express,3\nu1,koa,2\nu2,koa,4\n")
        self.ease("journal", "j", "--users", "data.csv", "--weights", "-o", "new.csv")
        with open(self.path("new.csv"), "rb") as f:
            self.assertEqual(sorted(f.read().split()), sorted(
                [b"user,item,value", b"u1,koa,2", b"u2,koa,4", b"\xff\xfe,mongoose,-2.5"]))

    def test_applying_twice_changes_nothing(self):
        self.write("data.csv", "user,item\nu1,express\nu1,koa\nu2,express\nu2,koa\n")
        self.ease("journal", "j", "--users", "data.csv", "-o", "once.csv")
        self.ease("journal", "j", "--users", "once.csv", "--format", "table", "-o", "twice.csv")
        self.assertEqual(sorted(open(self.path("once.csv"), "rb").readlines()),
                         sorted(open(self.path("twice.csv"), "rb").readlines()))

    def test_an_incomplete_event_is_told_and_left_out(self):
        self.place("torn")
        r = self.ease("journal", "j", "--csv")
        self.assertEqual(len(r.out.splitlines()), 3)
        self.assertIn("incomplete event", r.err)
        self.assertIn("0000000001.journal", r.err)

    def test_what_is_no_journal_is_refused_without_output(self):
        self.place("damaged")
        self.write("data.csv", "user,item\na,b\n")
        os.mkdir(self.path("empty"))
        for code, pattern, path in ((3, "valid events lie behind", "j"),
                                    (3, "not a journal", "data.csv"),
                                    (3, "no segment", "empty"),
                                    (1, "No such file", "none")):
            for how in ((), ("--csv",), ("--json",)):
                r = self.fails(code, pattern, "journal", path, *how)
                if path != "j":
                    self.assertEqual(r.out, "")

    def test_options_that_do_not_fit_are_refused(self):
        self.write("data.csv", "user,item\na,b\n")
        self.fails(2, "go together", "journal", "j", "--users", "data.csv")
        self.fails(2, "go together", "journal", "j", "-o", "x.csv")
        self.fails(2, "need --users", "journal", "j", "--weights")
        self.fails(2, "cannot be used", "journal", "j", "--csv", "--users", "data.csv",
                   "-o", "x.csv")
        self.fails(2, "data.csv", "journal", "j", "--users", "data.csv", "-o", "data.csv")
        self.write("dated.csv", "user,item,date\na,b,2024-01-01\n")
        self.fails(2, "could not be aged again; .*: ease journal j --csv", "journal", "j",
                   "--users", "dated.csv", "--half-life", 30, "-o", "x.csv")


if __name__ == "__main__":
    support.main()
