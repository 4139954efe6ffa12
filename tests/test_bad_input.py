"""Bad and odd data, damaged files: told in one line, or taken as they are."""

import csv
import gzip
import io
import base64
import json
import os
import random
import struct
import subprocess

import numpy as np

from small import Trained, as_csv, small_pairs
from support import Case, main, run


class BadData(Case):
    """Each gets a line that says where and what, exit 3, and no model."""

    def bad(self, content, pattern, *options, code=3):
        self.write("bad.csv", content)
        self.fails(code, pattern, "train", "-q", "bad.csv", "-o", "m", "--lambda", "1",
                   *options)
        self.assertEqual(os.listdir(self.dir), ["bad.csv"])

    def test_empty_file(self):
        self.bad("", r"bad\.csv.*(empty|no )")

    def test_only_blank_lines(self):
        self.bad("\n\n\n", r"bad\.csv")

    def test_header_only(self):
        self.bad("user,item,rating\n", r"bad\.csv")

    def test_binary_file(self):
        self.bad(bytes(range(256)) * 40, r"bad\.csv")
        self.bad(b"\x7fELF\x02\x01\x01" + bytes(3000), r"bad\.csv")

    def test_lines_that_end_with_cr_alone(self):
        self.bad("1\ta\r2\tb\r1\tc\r", r"bad\.csv:1: lines end with CR alone")

    def test_a_line_without_end_keeps_to_the_limit(self):
        self.fails(3, "binary", "info", "/dev/zero")
        line = b"u," + b"x" * (80 << 20)
        for text in (line, b"u,x\n" * 90000 + line, line[:200000] + b"\r" + line):
            self.write("x.gz", gzip.compress(text, 1))
            code, pattern = (3, "CR alone") if b"\r" in text else (4, "MB; the limit is 30 MB")
            self.fails(code, pattern, "train", "x.gz", "-o", "m", "--lambda", "1",
                       "--memory-limit", "30M")

    def test_damaged_compression(self):
        good = gzip.compress(as_csv(small_pairs()).encode())
        self.bad(good[:len(good) // 2], r"bad\.csv")
        self.bad(good[:20] + b"xxxx" + good[24:], r"bad\.csv")
        self.bad(b"\x28\xb5\x2f\xfd" + bytes(50), r"bad\.csv")

    def test_missing_path(self):
        self.fails(1, r"none\.csv.*No such file", "train", "none.csv", "-o", "m", "--lambda",
                   "1")
        self.fails(1, r"none\.ease.*No such file", "recommend", "none.ease", "--history", "a")
        self.fails(1, r"none\.gram.*No such file", "train", "--gram", "none.gram", "-o", "m",
                   "--lambda", "1")
        self.fails(1, r"none.*No such file", "info", "none")
        self.write("x.csv", as_csv(small_pairs()))
        self.fails(1, r"none\.csv.*No such file", "train", "x.csv", "-o", "m", "--lambda",
                   "1", "--titles", "none.csv")

    def test_directory_for_a_file(self):
        os.mkdir(self.path("d"))
        self.fails(3, r"\bd: a directory without a data set", "train", "d", "-o", "m", "--lambda",
                   "1")
        self.fails(1, r"\bd\b", "recommend", "d", "--history", "a")

    def as_nobody(self):
        """How to run the program without the rights of root."""
        if os.geteuid() != 0:
            return {}
        how = {"before": lambda: os.setuid(65534)}
        try:
            run("--version", **how)
        except (PermissionError, subprocess.SubprocessError):
            self.skipTest("root may do everything, and nobody cannot run the program")
        return how

    def test_devices_need_no_right_to_their_directory(self):
        os.chmod(self.dir, 0o755)
        os.chmod(self.write("x.csv", as_csv(small_pairs())), 0o644)
        how = self.as_nobody()
        self.ease("train", "x.csv", "-o", "/dev/null", "--lambda", "1", **how)
        self.ease("gram", "x.csv", "-o", "/dev/null", **how)
        os.mkfifo(self.path("f"), 0o400)
        self.fails(1, "f: cannot write: Permission denied", "train", "x.csv", "-o", "f",
                   "--lambda", "1", **how)

    def test_a_link_is_checked_where_it_leads(self):
        how = self.as_nobody()
        os.chmod(self.dir, 0o755)
        os.chmod(self.write("x.csv", as_csv(small_pairs())), 0o644)
        for name, mode in (("open", 0o777), ("shut", 0o555)):
            os.mkdir(self.path(name))
            os.chmod(self.path(name), mode)
        os.mkdir(self.path("links"))
        os.symlink("../open/new", self.path("links/a"))
        os.symlink(self.path("links/a"), self.path("links/b"))
        os.symlink("../shut/new", self.path("links/c"))
        r = self.fails(1, "c: cannot write to the directory '.*shut'.*denied", "train",
                       "x.csv", "-o", "links/c", "--lambda", "1", **how)
        self.assertNotIn("users", r.err)
        os.chmod(self.write("open/new", "old"), 0o666)
        self.ease("train", "x.csv", "-o", "links/b", "--lambda", "1", **how)
        self.assertTrue(os.path.islink(self.path("links/b")))
        self.ease("info", "open/new")

    def test_unreadable_path(self):
        how = self.as_nobody()
        os.chmod(self.dir, 0o777)
        os.chmod(self.write("x.csv", "u,i\na,b\n"), 0)
        self.fails(1, r"x\.csv.*Permission denied", "train", "x.csv", "-o", "m", "--lambda",
                   "1", **how)
        os.chmod(self.dir, 0o555)
        os.chmod(self.path("x.csv"), 0o644)
        r = self.fails(1, r"m: cannot write.*Permission denied", "train", "x.csv", "-o", "m",
                       "--lambda", "1", **how)
        self.assertNotIn("users", r.err)
        os.chmod(self.dir, 0o755)

    def test_ragged_rows_are_named_by_line(self):
        self.bad("user,item,rating\na,b,3\nc,d\n", r"bad\.csv:3: ")
        self.bad("user,item,rating\n" + "a,b,3\n" * 5000 + "a,b,3,4\n" + "a,c,3\n" * 5000,
                 r"bad\.csv:5002: ")

    def test_bad_ratings_are_named_by_line(self):
        for value in ("x", "nan", "NaN", "inf", "-inf", "1e400", "1.5.2", "--3", ""):
            with self.subTest(value=value):
                self.bad(f"user,item,rating\na,b,3\nc,d,{value}\ne,f,2\n", r"bad\.csv:3: ")

    def test_values_are_checked_with_every_use(self):
        for options in ([], ["--weights"], ["--min-rating", "2"]):
            self.bad("user,item,rating\na,b,3\nc,d,zzz\n", r"bad\.csv:3: ", *options)

    def test_unclosed_quote(self):
        self.bad('user,item\na,b\nc,"d\n', r"bad\.csv")

    def test_nothing_left_after_filters(self):
        self.bad("user,item,rating\na,b,3\nc,d,1\n", r"bad\.csv", "--min-rating", "4")
        self.bad("user,item\na,b\nc,d\n", r"bad\.csv", "--min-user", "5")

    def test_columns_that_do_not_exist(self):
        self.write("x.csv", as_csv(small_pairs()))
        for columns in ("user,thing", "1,9", "user", "1,1,1,1", ""):
            with self.subTest(columns=columns):
                r = run("train", "x.csv", "-o", "m", "--lambda", "1", "--columns", columns,
                        cwd=self.dir)
                self.assertIn(r.code, (2, 3), r)
                self.assertRegex(r.err, "(?m)^ease: ")

    def test_models_and_gram_files_are_no_data(self):
        self.write("x.csv", as_csv(small_pairs()))
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        self.ease("gram", "x.csv", "-o", "g")
        self.fails(3, "m: a model", "train", "m", "-o", "n", "--lambda", "1")
        self.fails(3, "g: a Gram file", "train", "g", "-o", "n", "--lambda", "1")
        self.fails(3, "x.csv", "recommend", "x.csv", "--history", "a")
        self.fails(3, "g: ", "recommend", "g", "--history", "a")
        self.fails(3, "m: ", "train", "--gram", "m", "-o", "n", "--lambda", "1")


class OddData(Case):
    """What looks bad and is not."""

    def trained(self, content, *options):
        self.write("odd.csv", content)
        r = self.ease("train", "odd.csv", "-o", "m", "--lambda", "1", "--json", *options)
        return json.loads(r.out)

    def test_ids_of_any_length_and_bytes(self):
        long = "x" * 100_000
        rows = b"user,item\nu1," + long.encode() + b"\nu1,\xff\xfe\nu2,\xff\xfe\nu2,b\n"
        self.assertEqual(self.trained(rows)["items"], 3)
        out = self.ease("recommend", "m", "--history", "b", "--json").out
        self.assertEqual({i.get("id") or base64.b64decode(i["id_base64"])
                          for i in json.loads(out)["items"]}, {long, b"\xff\xfe"})
        self.assertIn(b"\xff\xfe", self.ease("recommend", "m", "--history", "b", "--csv").raw)
        text = self.ease("recommend", "m", "--history", "b").raw
        self.assertNotIn(b"\xff", text)

    def test_numbers_past_64_bits_are_ids_like_others(self):
        a, b = "9" * 30, "1" + "0" * 40
        self.assertEqual(self.trained(f"user,item\nx,{a}\nx,{b}\ny,{a}\n")["items"], 2)
        out = self.ease("recommend", "m", "--history", b, "--json").out
        self.assertEqual(json.loads(out)["items"][0]["id"], a)

    def test_hostile_ids_do_not_drive_the_terminal(self):
        rows = 'user,item\nu,"\033[31mred\033]0;x\007"\nu,b\nv,\u202eback\nv,b\n'
        self.trained(rows)
        r = self.ease("recommend", "m", "--history", "b")
        self.assertNotIn("\033", r.out)
        self.assertNotIn("\007", r.out)
        self.assertNotIn("\u202e", r.out)
        self.assertEqual(len(r.out.splitlines()), 3)
        ids = {i["id"] for i in json.loads(
            self.ease("recommend", "m", "--history", "b", "--json").out)["items"]}
        self.assertEqual(ids, {"\033[31mred\033]0;x\007", "\u202eback"})
        rows = list(csv.DictReader(io.StringIO(
            self.ease("recommend", "m", "--history", "b", "--csv").out)))
        self.assertEqual({row["item"] for row in rows}, ids)
        r = self.ease("similar", "m", "\033[2J", code=3)
        self.assertNotIn("\033", r.err)

    def test_quotes_and_crlf(self):
        facts = self.trained('user,item\r\n"a","x, ""y"""\r\nb,"x, ""y"""\r\nb,z\r\n')
        self.assertEqual((facts["users"], facts["items"], facts["interactions"]), (2, 2, 3))
        out = self.ease("recommend", "m", "--history", "z", "--json").out
        self.assertEqual(json.loads(out)["items"][0]["id"], 'x, "y"')

    def test_one_user_one_item(self):
        self.assertEqual(self.trained("user,item\na,x\na,y\n")["users"], 1)
        self.assertEqual(self.trained("user,item\na,x\nb,x\n")["items"], 1)
        out = self.ease("recommend", "m", "--history", "x", "--json").out
        self.assertEqual(json.loads(out)["items"], [])
        out = self.ease("similar", "m", "x", "--json").out
        self.assertEqual(json.loads(out)["items"], [])
        self.assertEqual(self.trained("user,item\na,x\n")["interactions"], 1)
        for kind in ("covariance", "correlation"):
            self.trained("user,item\na,x\na,y\n", "--kind", kind)

    def test_items_nobody_rated(self):
        self.write("ids.txt", "a\nb\nnobody\n")
        self.write("t.csv", "a,a,3\na,b,1\nb,b,2\n")
        self.ease("gram", "import", "t.csv", "-o", "g", "--items", "ids.txt", "--users", "4")
        for kind in ("counts", "covariance", "correlation"):
            self.ease("train", "--gram", "g", "-o", "m", "--lambda", "1", "--kind", kind)
            self.ease("export", "m", "-o", "b.npy")
            b = np.load(self.path("b.npy"))
            self.assertTrue(np.isfinite(b).all())
            self.assertTrue((b[2] == 0).all() and (b[:, 2] == 0).all())

    def test_repeated_pairs_are_told(self):
        self.write("x", "user,item\na,x\na,x\nb,x\nb,y\n")
        r = self.ease("train", "x", "-o", "m", "--lambda", "1")
        self.assertRegex(r.err, "1 repeated")


class Lambda(Case):
    def test_must_be_finite_and_above_zero(self):
        self.write("x.csv", as_csv(small_pairs()))
        for value in ("0", "-1", "nan", "inf", "-inf", "1e999", "x", "", "1x", "0x", "-0"):
            with self.subTest(value=value):
                r = self.fails(2, "--lambda", "train", "x.csv", "-o", "m", "--lambda", value)
                self.assertEqual(r.err.splitlines()[1], "try 'ease train --help'")
        self.fails(2, "lambda is required: .* Gram matrix", "train", "--gram", "x", "-o", "m")
        self.fails(2, "--lambda needs a value", "train", "x.csv", "-o", "m", "--lambda")

    def test_too_small_is_a_numerical_failure(self):
        # Two columns are equal: without lambda the matrix has no inverse.
        self.write("x.csv", "user,item\n" + "".join(f"u{u},a\nu{u},b\n" for u in range(5)))
        self.fails(5, "lambda", "train", "x.csv", "-o", "m", "--lambda", "1e-30")
        self.fails(5, "every weight would be 0", "train", "x.csv", "-o", "m", "--lambda",
                   "1e60")
        self.assertFalse(os.path.exists(self.path("m")))


class Damage(Trained):
    """Files that are cut, flipped, foreign or from the future: exit 3, never a crash."""

    def setUp(self):
        super().setUp()
        self.ease("gram", "ratings.csv", "-o", "x.gram")

    def uses(self, name, content):
        self.write(name, content)
        gram = name.endswith(".gram")
        yield ["info", name, "--verify"]
        if gram:
            yield ["train", "--gram", name, "-o", "out", "--lambda", "1"]
        else:
            yield ["recommend", name, "--history", "react"]

    def test_cut_files(self):
        rng = random.Random(3)
        for name in ("model.ease", "x.gram"):
            good = self.read(name)
            for size in [1, 7, 8, 100, 4095, 4096, len(good) - 1] + \
                    [rng.randrange(len(good)) for _ in range(6)]:
                for args in self.uses("cut-" + name, good[:size]):
                    if args[0] == "info" and size < 8:
                        continue  # too short to be told from a text
                    self.fails(3, "cut-" + name, *args)

    def test_files_with_more_behind(self):
        for name in ("model.ease", "x.gram"):
            for args in self.uses("long-" + name, self.read(name) + b"more"):
                self.fails(3, "long-" + name, *args)

    def test_flipped_bits(self):
        rng = random.Random(4)
        for name in ("model.ease", "x.gram"):
            good = self.read(name)
            used = [i for i, b in enumerate(good) if b and i >= 8]
            for at in rng.sample(used, 12):
                bad = bytearray(good)
                bad[at] ^= 1 << rng.randrange(8)
                for args in self.uses("flip-" + name, bytes(bad)):
                    r = run(*args, cwd=self.dir)
                    # Weights of a model are checked only when asked for.
                    codes = (0, 3) if args[0] == "recommend" else (3,)
                    self.assertIn(r.code, codes, f"byte {at} of {name}: {r}")

    def test_foreign_files(self):
        for content in (b"\x89PNG\r\n\x1a\n" + bytes(9000), bytes(8192), b"user,item\na,b\n"):
            self.write("foreign", content)
            self.fails(3, "foreign", "recommend", "foreign", "--history", "a")
            self.fails(3, "foreign", "train", "--gram", "foreign", "-o", "m", "--lambda", "1")
            self.fails(3, "foreign", "gram", "merge", "x.gram", "foreign", "-o", "m")

    def test_files_of_a_newer_version(self):
        for name in ("model.ease", "x.gram"):
            newer = bytearray(self.read(name))
            newer[16:20] = struct.pack("<I", 99)
            for args in self.uses("newer-" + name, bytes(newer)):
                if args[0] != "info":
                    self.fails(3, "version 99", *args)

    def test_empty_files(self):
        self.write("empty", b"")
        self.fails(3, "empty", "recommend", "empty", "--history", "a")
        self.fails(3, "empty", "train", "--gram", "empty", "-o", "m", "--lambda", "1")
        self.fails(3, "empty", "info", "empty")


class Inputs(Case):
    """What is read is never destroyed."""

    def test_an_output_that_is_an_input_is_refused(self):
        self.write("d.csv", "u,i\na,x\na,y\nb,x\nb,y\n")
        self.ease("gram", "d.csv", "-o", "d.gram")
        self.ease("train", "d.csv", "-o", "d.ease", "--lambda", "1")
        for args in (["train", "d.csv", "-o", "d.csv", "--lambda", "1"],
                     ["train", "--gram", "d.gram", "-o", "./d.gram", "--lambda", "1"],
                     ["gram", "d.csv", "-o", "d.csv"],
                     ["export", "d.ease", "-o", "d.ease"]):
            before = self.read(args[-3] if "--lambda" in args else args[-1])
            self.fails(2, "would be lost", *args)
            self.assertEqual(self.read(args[-3] if "--lambda" in args else args[-1]), before)
        # All is read before it is replaced.
        self.write("e.csv", "user,item\nc,x\n")
        self.ease("gram", "e.csv", "-o", "e.gram")
        self.ease("gram", "merge", "d.gram", "e.gram", "-o", "d.gram")


if __name__ == "__main__":
    main()
