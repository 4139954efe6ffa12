"""Files: where outputs go and whose they are, odd inputs, and the memory that reading takes
where no limit is given."""

import gzip
import io
import os
import resource
import unittest
import zipfile

import support
from small import Trained, as_csv, small_pairs


class Outputs(Trained):
    def test_what_cannot_be_written_is_told_before_the_work(self):
        """Root has every permission in /proc, and yet no file can be made there."""
        for args in (["train", "none.csv", "--lambda", "1"], ["gram", "none.csv"],
                     ["export", "none.ease"],
                     ["tune", "none.csv"],
                     ["plot", "weights", "none.ease"],
                     ["synth", "--users", 5, "--items", 5, "--interactions", 9]):
            self.fails(1, "^ease: /proc/x: cannot write to the directory '/proc': ",
                       *args, "-o", "/proc/x")

    def test_a_dangling_link_has_its_target_made(self):
        os.mkdir(self.path("store"))
        os.symlink("store/new.ease", self.path("latest.ease"))
        self.ease("train", "ratings.csv", "-o", "latest.ease", "--lambda", "1")
        self.assertTrue(os.path.islink(self.path("latest.ease")))
        self.ease("info", "store/new.ease")
        os.symlink("b", self.path("a"))
        os.symlink("a", self.path("b"))
        self.fails(1, "a: cannot write: Too many levels", "train", "ratings.csv", "-o", "a",
                   "--lambda", "1")

    @unittest.skipUnless(os.geteuid() == 0, "only root may give files away")
    def test_a_model_stays_its_owners(self):
        self.ease("train", "ratings.csv", "-o", "theirs.ease", "--lambda", "1")
        os.chown(self.path("theirs.ease"), 65534, 65533)
        os.chmod(self.path("theirs.ease"), 0o640)
        self.ease("train", "ratings.csv", "-o", "theirs.ease", "--lambda", "2")
        st = os.stat(self.path("theirs.ease"))
        self.assertEqual((st.st_uid, st.st_gid, st.st_mode & 0o7777), (65534, 65533, 0o640))


class Inputs(support.Case):
    def train(self, name, *options, **how):
        return self.ease("train", name, "-o", "m", "--lambda", "1", *options, **how)

    def test_names_in_a_zip_file_have_any_length(self):
        for length in (63, 64, 65, 300, 60000):
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as z:
                z.writestr("d" * (length - 4) + ".csv", as_csv(small_pairs()))
            self.write("x.zip", made.getvalue())
            self.assertIn("60 users", self.train("x.zip").err)
        with zipfile.ZipFile(made, "a") as z:
            z.writestr("e" * 200, "x")
        self.write("x.zip", made.getvalue())
        self.fails(3, "a zip file of 2 files", "train", "x.zip", "-o", "m", "--lambda", "1")
        with zipfile.ZipFile(made, "a") as z:
            z.writestr("e" * 200 + "/ratings.csv", as_csv(small_pairs()))
        self.write("x.zip", made.getvalue())
        self.assertIn("60 users", self.train("x.zip").err)

    def test_blank_lines_alone_are_no_rows(self):
        for text, pattern in (("", "x: empty"), ("\n" * 1000, "x: empty"),
                              (" \r\n" * 1000, "x: empty"),
                              ("\n" * 1000000, "x: nothing but blank lines in its first 262 kB"),
                              ("\r\n" * 500000, "x: nothing but blank lines")):
            self.write("x", text)
            self.fails(3, pattern, "train", "x", "-o", "m", "--lambda", "1")
        self.write("model.csv", as_csv(small_pairs()))
        self.train("model.csv")
        self.write("x", "\n" * 1000000)
        self.fails(3, "x: nothing but blank lines", "similar", "m", "lodash", "--titles", "x")

    def test_a_long_line_is_told_with_its_length(self):
        def refused(text, pattern, limit):
            self.write("x.gz", gzip.compress(text, 1))
            self.fails(4, pattern, "train", "x.gz", "-o", "m", "--lambda", "1",
                       "--memory-limit", limit, "--threads", 2)

        line = b"u," + b"x" * (1 << 20)
        refused(line, "lines as long as these, 0 in the first 262 kB; the limit is 1 MB$", "1M")
        refused(b"u,x\n" * 90000 + line, "a line of more than [0-9]+ kB; the limit is 3 MB$",
                "3M")


@unittest.skipIf(support.SANITIZED, "sanitizers take memory of their own")
class Memory(support.Case):
    """What is available is the limit. A resource limit counts as such, as a control group
    does, in which the kernel would kill the process."""

    LIMIT = 500 << 20
    PATTERN = "needs more than [0-9]+ MB( after [0-9]+ rows)?; the limit is [0-9]+ MB$"

    def limit(self):
        """On two processors: the stacks of more threads would take it all."""
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
        resource.setrlimit(resource.RLIMIT_DATA, (self.LIMIT, self.LIMIT))

    def refused(self, pattern, *args):
        self.fails(4, pattern, *args, "--quiet", before=self.limit)

    def rows(self, name, row, millions):
        """A small gzip file of very many equal rows."""
        return self.write(name, gzip.compress(row * 1000000, 9) * millions)

    def model(self):
        self.write("small.csv", as_csv(small_pairs()))
        self.ease("train", "small.csv", "-o", "m", "--lambda", "1")

    def test_interactions(self):
        self.rows("x.gz", b"u,i\n", 100)
        self.refused(self.PATTERN, "train", "x.gz", "-o", "m", "--lambda", "1")
        self.refused(self.PATTERN, "split", "x.gz", "-o", "s", "--protocol", "leave-last")
        self.assertEqual(os.listdir(self.dir), ["x.gz"])
        self.model()
        self.refused(self.PATTERN, "eval", "m", "--input", "x.gz", "--target", "x.gz")

    def test_other_forms(self):
        head = b"%%MatrixMarket matrix coordinate pattern general\n2 2 100000000\n"
        self.write("x.mtx.gz", gzip.compress(head) + gzip.compress(b"1 2\n" * 1000000) * 100)
        self.refused(self.PATTERN, "train", "x.mtx.gz", "-o", "m", "--lambda", "1")
        self.rows("x.gz", b"u" + b" i" * 20 + b"\n", 10)
        self.refused(self.PATTERN, "train", "x.gz", "-o", "m", "--lambda", "1")

    def test_titles_and_lists_of_ids(self):
        self.model()
        self.rows("titles.gz", b"lodash,a title of some length, to be kept\n", 40)
        self.refused(self.PATTERN, "similar", "m", "lodash", "--titles", "titles.gz")
        with open(self.path("history"), "wb") as f:
            f.truncate(1 << 30)
        self.refused("history: reading needs more than .* are available$", "recommend", "m",
                     "--history", "@history")
        self.rows("items.gz", b"i\n", 500)
        self.write("shard.csv", "i,i,1\n")
        self.refused(self.PATTERN, "gram", "import", "shard.csv", "--items", "items.gz", "-o",
                     "g")

    def test_synthetic_data(self):
        self.refused("need [0-9]+ MB; [0-9]+ MB are available$", "synth", "-o", "x", "--users",
                     1000000, "--items", 100000, "--interactions", 200000000)


if __name__ == "__main__":
    support.main()
