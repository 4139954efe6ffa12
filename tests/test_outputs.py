"""Outputs that would take each other's place, or that of an input, are refused before any
work; a run that fails says what it has written."""
import os
import socket
import subprocess

import support


class Outputs(support.Case):
    def setUp(self):
        super().setUp()
        rows = [(u, i) for u in range(30) for i in "abcdefgh" if (u * 5 + ord(i) * 3) % 4]
        self.write("data.csv", "user,item\n" + "".join(f"{u},{i}\n" for u, i in rows))
        self.write("titles.csv", "item,title\na,Alien\n")
        self.ease("train", "data.csv", "-o", "m.ease", "--lambda", 1)
        self.ease("split", "data.csv", "-o", "s", "--protocol", "random")
        os.mkdir(self.path("sub"))
        os.symlink("x.svg", self.path("link"))  # to what is not there yet
        for link, to in (("model", "m.ease"), ("data", "data.csv"), ("titles", "titles.csv"),
                         ("train", "s/train.csv")):  # figures have no other suffix than .svg
            os.symlink("../" + to, self.path("sub/" + link))
        self.before = self.listing()

    def listing(self):
        """All files with their contents."""
        return {os.path.join(where, name): self.read(os.path.join(where, name))
                for where, _, names in os.walk(self.dir) for name in names
                if os.path.exists(os.path.join(where, name))}

    def refused(self, pattern, *args, **how):
        self.fails(2, pattern, *args, **how)
        self.assertEqual(self.listing(), self.before, args)

    def spellings(self):
        """Names of the file x.svg, which is not there."""
        return ["x.svg", "./x.svg", "sub/../x.svg", self.path("x.svg"), "link"]

    def test_two_outputs_are_two_files(self):
        for one in self.spellings():
            for two in ("x.svg", "link"):
                self.refused("same file", "export", "m.ease", "-o", one, "--items", two)
                self.refused("same file", "tune", "s", "-o", one, "--plot", two, "--lambda", "1")
        self.write("y", "")
        os.link(self.path("y"), self.path("z"))
        self.before = self.listing()
        self.refused("same file", "export", "m.ease", "-o", "y", "--items", "z")
        self.ease("export", "m.ease", "-o", "x.svg", "--items", "sub/x.svg")
        self.assertEqual(self.read("sub/x.svg").split()[:1], [b"a"])

    def test_devices_are_not_files(self):
        self.ease("export", "m.ease", "-o", "/dev/null", "--items", "/dev/null")

    def test_standard_output_is_an_output(self):
        for args in (["eval", "m.ease", "--input", "data.csv", "--target", "data.csv",
                      "--per-user", "/dev/stdout"],
                     ["tune", "s", "-o", "/dev/stdout", "--lambda", "1"],
                     ["tune", "s", "-o", "x.svg", "--plot", "/dev/stdout", "--lambda", "1"],
                     ["compare", "s", "--models", "popularity", "--plot", "/dev/stdout"],
                     ["plot", "weights", "m.ease", "-o", "/dev/stdout"],
                     ["export", "m.ease", "-o", "-", "--items", "/dev/stdout"],
                     ["train", "data.csv", "-o", "/dev/stdout", "--lambda", "1", "--json"],
                     ["gram", "data.csv", "-o", "/dev/stdout", "--csv"]):
            self.refused("same file", *args)
            with open(self.path("x.svg"), "wb") as f:
                shown = support.run(*args, cwd=self.dir, stdout=f)
            self.assertEqual(shown.code, 2, shown)
            self.assertEqual(os.path.getsize(self.path("x.svg")), 0)
            os.unlink(self.path("x.svg"))
        r = self.ease("export", "m.ease", "-o", "/dev/stdout")
        self.assertTrue(r.out.startswith("a,"), r)

    def test_a_socket_is_both_ends(self):
        """As a remote shell may have it: what is written to it takes no place."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(b"lambda,mean,stderr,seconds\n1,.5,.1,1\n2,.6,.1,1\n")
            ours.shutdown(socket.SHUT_WR)
            done = subprocess.run([support.EASE, "plot", "lambda", "-", "-o", "-"],
                                  stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
                                  check=False)
            theirs.close()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"<svg", ours.recv(1000))

    def test_an_output_takes_no_place_of_an_input(self):
        measured = ["--input", "data.csv", "--target", "data.csv"]
        for output in "m.ease", "sub/model":
            self.refused("is the input", "export", "m.ease", "-o", output)
            self.refused("is the input", "export", "m.ease", "-o", "w.csv", "--items", output)
            self.refused("is the input", "eval", "m.ease", *measured, "--per-user", output)
        self.refused("is the input", "plot", "weights", "m.ease", "-o", "sub/model")
        self.refused("is the input", "plot", "longtail", "m.ease", *measured, "-o", "sub/model")
        self.refused("is the input", "eval", "m.ease", *measured, "--per-user", "data.csv")
        self.refused("is the input", "eval", "m.ease", "--split", "s", "--per-user",
                     "s/test_te.csv")
        self.refused("is the input", "plot", "longtail", "m.ease", *measured, "-o", "sub/data")
        self.refused("is the input", "plot", "lambda", "titles.csv", "-o", "sub/titles")
        self.refused("is the input", "compare", "s", "--models", "popularity", "--plot",
                     "sub/train")
        for option in "-o", "--plot":
            rest = [] if option == "-o" else ["-o", "x.svg"]
            self.refused("is the input", "tune", "s", "--lambda", "1", *rest, option,
                         "sub/train")
            self.refused("is the input", "tune", "s", "--lambda", "1", *rest, "--titles",
                         "titles.csv", option, "sub/titles")

    def test_an_output_takes_no_place_in_a_directory_that_is_read(self):
        rows = self.read("data.csv").decode()
        for name, text in (("ml/ratings.csv", rows),
                           ("nf/training_set/mv_0000001.txt", "1:\n5,3,2005-01-01\n"),
                           ("kaggle/combined_data_1.txt", "1:\n5,3,2005-01-01\n"),
                           ("parts/0.csv", "a,a,2\na,b,1\nb,b,3\n")):
            os.makedirs(os.path.dirname(self.path(name)))
            self.write(name, text)
        os.symlink("ml/ratings.csv", self.path("far"))
        self.before = self.listing()
        for place, output in (("ml", "ml/ratings.csv"), ("ml", "far"), ("ml/", "ml/../far"),
                              ("nf", "nf/training_set/mv_0000001.txt"),
                              ("nf/training_set", "nf/training_set/mv_0000001.txt"),
                              ("kaggle", "kaggle/combined_data_1.txt")):
            self.refused("is the input", "train", place, "-o", output, "--lambda", 1)
            self.refused("is the input", "gram", place, "-o", output)
        self.refused("is the input", "gram", "import", "parts", "-o", "parts/0.csv")
        self.refused("is the input", "eval", "m.ease", "--input", "ml", "--target", "ml",
                     "--per-user", "ml/ratings.csv")
        for _ in range(2):  # a model beside the data is none of it
            self.ease("train", "ml", "-o", "ml/m.ease", "--lambda", 1)

    def test_what_a_split_may_have_is_its_own(self):
        os.unlink(self.path("s/split.json"))
        self.before = self.listing()
        self.refused("is the input", "tune", "s", "--lambda", "1", "-o", "s/split.json")

    def test_standard_input_is_an_input(self):
        with open(self.path("data.csv"), "rb") as f:
            done = subprocess.run([support.EASE, "train", "-", "-o", "data.csv", "--lambda", "1"],
                                  cwd=self.dir, stdin=f, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.listing(), self.before)


class Shards(support.Case):
    def setUp(self):
        super().setUp()
        self.write("a.csv", "user,item\n1,a\n1,b\n2,b\n")
        self.write("b.csv", "user,item\n3,a\n3,c\n")
        for name in "ab":
            self.ease("gram", f"{name}.csv", "-o", f"{name}.gram")
        os.symlink("a.gram", self.path("link.gram"))
        os.link(self.path("a.gram"), self.path("hard.gram"))

    def test_no_shard_is_merged_twice(self):
        for name in "a.gram", "./a.gram", "link.gram", "hard.gram", self.path("a.gram"):
            self.fails(2, "a.gram and .*: the same file", "gram", "merge", "a.gram", "b.gram",
                       name, "-o", "c.gram")
        self.assertFalse(os.path.exists(self.path("c.gram")))
        self.ease("gram", "merge", "a.gram", "b.gram", "-o", "b.gram")

    def test_no_shard_is_imported_twice(self):
        self.write("pairs.csv", "a,a,2\na,b,1\nb,b,3\n")
        os.mkdir(self.path("parts"))
        self.write("parts/0.csv", "a,a,2\n")
        for one, two in (("pairs.csv", "./pairs.csv"), ("parts", "parts/")):
            self.fails(2, "the same file", "gram", "import", one, two, "-o", "c.gram")
        self.ease("gram", "import", "pairs.csv", "parts", "-o", "c.gram")


class Failures(support.Case):
    """By time: all that is held out to test is new, which shows after the model is there."""

    def setUp(self):
        super().setUp()
        early = [(u, i, 1) for u in range(20) for i in "abcdef" if (u + ord(i)) % 4]
        middle = [(u, i, 2) for u in range(20) for i in "abcdef" if (u + ord(i)) % 4 == 0]
        late = [(u, f"new{u % 3}", 3) for u in range(20)]
        self.write("data.csv", "user,item,time\n" + "".join(
            f"{u},{i},{t}\n" for u, i, t in early + middle + late))
        self.ease("split", "data.csv", "-o", "s", "--protocol", "time", "--columns",
                  "user,item,,time")

    def test_tune_says_what_it_has_written(self):
        r = self.ease("tune", "s", "-o", "m.ease", "--lambda", "1,10", "--plot", "l.svg", "--json",
                      code=3)
        self.assertIn("held out", r.err)
        self.assertRegex(r.err, "warning: l.svg was written before")
        self.assertRegex(r.err, "warning: m.ease was written before.*not tested")
        self.ease("info", "m.ease", "--verify")
        self.assertEqual(self.read("l.svg")[:5], b"<svg ")

    def test_export_says_what_it_has_written(self):
        self.write("a.csv", "user,item\n1,a\n1,b\n2,b\n")
        self.ease("train", "a.csv", "-o", "p.ease", "--model", "popularity")
        r = self.ease("export", "p.ease", "-o", "w.csv", "--items", "ids.txt", code=2)
        self.assertRegex(r.err, "warning: ids.txt was written before")
        self.assertEqual(self.read("ids.txt"), b"a\nb\n")


if __name__ == "__main__":
    support.main()
