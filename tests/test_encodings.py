"""Texts from spreadsheets and other systems: UTF-16, Latin-1, decimal commas; Parquet, which
is piped in by the lines that the program prints."""
import os
import shutil
import subprocess
import unittest

import support
from support import Case

ROWS = [("Jürgen", "Käse", "4,5", "2024-03-01"), ("Jürgen", "Bröd 😀", "3", "2024-03-02"),
        ("Zoë", "Käse", "0,5", "2024-03-03"), ("Łukasz", "Käse", "5", "2024-03-04"),
        ("Zoë", "Bröd 😀", "2,25", "2024-03-05")] * 3


def table(rows, separator=";"):
    return "".join(separator.join(r) + "\r\n" for r in [("user", "item", "rating", "day"), *rows])


class Encodings(Case):
    def model(self, name, *options):
        self.ease("train", name, "-o", "m.ease", "--lambda", 2, "--weights", "--quiet", *options)
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "w.txt", "--quiet")
        return self.read("w.npy"), self.read("w.txt")

    def setUp(self):
        super().setUp()
        self.write("x.csv", table([(u, i, r.replace(",", "."), d) for u, i, r, d in ROWS]))
        self.want = self.model("x.csv")

    def test_utf16_is_recognized_by_its_mark(self):
        text = table(ROWS)
        for coding in "utf-16-le", "utf-16-be":
            self.write("y.csv", ("\ufeff" + text).encode(coding))
            self.assertEqual(self.model("y.csv"), self.want)
            r = self.ease("info", "y.csv")
            self.assertIn("UTF-16 table separated by ';' with header", r.out)
            self.assertEqual(self.model("y.csv", "--encoding", "utf-16"), self.want)
        self.write("z.csv", text.encode("utf-16-le"))
        self.fails(3, "like UTF-16 without its mark", "info", "z.csv")
        self.assertEqual(self.model("z.csv", "--encoding", "utf-16"), self.want)

    def test_utf16_of_any_size_and_through_a_pipe(self):
        rows = [(f"ü{i % 601}", f"i{i * 7 % 97}😀", "1", "2024-01-01") for i in range(60000)]
        self.write("big.csv", table(rows))
        want = self.model("big.csv")
        self.write("big16.csv", table(rows).encode("utf-16"))
        self.assertEqual(self.model("big16.csv"), want)
        self.ease("train", "-", "-o", "m.ease", "--lambda", 2, "--weights", "--quiet",
                  input=self.read("big16.csv"))
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "w.txt", "--quiet")
        self.assertEqual((self.read("w.npy"), self.read("w.txt")), want)

    def test_damaged_utf16_is_refused(self):
        good = ("\ufeff" + table(ROWS)).encode("utf-16-le")
        self.write("y.csv", good[:-1])
        self.fails(3, "y.csv: damaged or truncated UTF-16", "info", "y.csv")
        self.write("y.csv", good + b"\x00\xd8a\x00")
        self.fails(3, "y.csv: damaged or truncated UTF-16", "info", "y.csv")
        self.fails(2, "encoding 'ebcdic': not utf-8, utf-16 or latin-1", "info", "y.csv",
                   "--encoding", "ebcdic")

    def test_latin1_is_converted_on_demand(self):
        rows = [(u, i.replace("😀", "€"), r, d) for u, i, r, d in ROWS if u[0] != "Ł"]
        self.write("x.csv", table(rows))
        want = self.model("x.csv")
        self.write("y.csv", table(rows).encode("cp1252"))
        self.assertEqual(self.model("y.csv", "--encoding", "latin-1"), want)
        self.assertIn("Latin-1 table", self.ease("info", "y.csv", "--encoding", "latin-1").out)
        self.assertNotEqual(self.model("y.csv"), want)  # the bytes as they are

    def test_every_byte_of_latin1_is_that_of_browsers(self):
        self.write("y.csv", b"user,item\n" + b"".join(
            b"u,\"i%c\"\n" % b for b in range(0x21, 256) if b != 0x22))
        self.ease("train", "y.csv", "-o", "m.ease", "--lambda", 1, "--encoding", "latin-1",
                  "--columns", "user,item")
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "w.txt", "--quiet")
        want = ["i" + bytes([b]).decode("cp1252", "replace") for b in range(0x21, 256)
                if b != 0x22]
        got = self.read("w.txt").decode().split("\n")[:-1]
        for mine, its in zip(got, want):
            self.assertEqual(mine, its if its != "i\ufffd" else mine)

    def test_decimal_commas(self):
        self.write("y.csv", table(ROWS))
        self.assertEqual(self.model("y.csv"), self.want)
        self.write("y.csv", table([(u, i, f'"{r}"', d) for u, i, r, d in ROWS], ","))
        self.assertEqual(self.model("y.csv"), self.want)
        self.write("y.csv", table([(u, i, "1,234", d) for u, i, r, d in ROWS]))
        r = self.model("y.csv")
        self.write("y.csv", table([(u, i, "1.234", d) for u, i, r, d in ROWS], ","))
        self.assertEqual(self.model("y.csv"), r)
        self.write("y.csv", table([(u, i, "1,234", d) for u, i, r, d in ROWS], "\t"))
        self.fails(3, "y.csv:2: '1,234' is not a number", "info", "y.csv", "--columns",
                   "user,item,rating")
        for bad in "1,2,3", "1.2,3", ",5", "5,", "1,5e3", "- 1,5":
            self.write("y.csv", table([(u, i, bad, d) for u, i, r, d in ROWS]))
            self.fails(3, "y.csv:2: '.*' is not a number", "info", "y.csv", "--weights",
                       "--columns", "user,item,rating")


@unittest.skipUnless(shutil.which("sh"), "a shell is needed")
class Parquet(Case):
    """The lines are run as they are printed, by a shell."""

    def lines(self, *args):
        r = self.ease(*args, code=3)
        first, *rest = r.err.splitlines()
        self.assertRegex(first, "^ease: .*: Parquet, which DuckDB or the Python module pipes in:$")
        return rest

    def test_the_lines_name_the_whole_command(self):
        self.write("x.parquet", b"PAR1....")
        self.assertEqual(self.lines("train", "x.parquet", "-o", "my model", "--lambda", 5), [
            "  duckdb -csv -c \"FROM 'x.parquet'\" | ease train - -o 'my model' --lambda 5",
            "  python -m ease x.parquet | ease train - -o 'my model' --lambda 5"])
        self.assertEqual(self.lines("split", "x.parquet", "-o", "s", "--protocol", "time")[1:],
                         ["  python -m ease x.parquet | ease split - -o s --protocol time"])
        self.write("x.csv", "a,x\na,y\nb,x\n")
        self.ease("train", "x.csv", "-o", "m", "--lambda", 1)
        self.assertEqual(self.lines("recommend", "m", "--users=x.parquet"), [
            "  duckdb -csv -c \"FROM 'x.parquet'\" | ease recommend m --users=-",
            "  python -m ease x.parquet | ease recommend m --users=-"])
        self.write("it's.parquet", b"PAR1....")
        self.assertEqual(self.lines("info", "it's.parquet"),
                         ["  python -m ease 'it'\\''s.parquet' | ease info -"])
        os.mkdir(self.path("d"))
        self.write("d/part-0.parquet", b"PAR1....")
        self.assertEqual(self.lines("info", "d"),
                         ["  duckdb -csv -c \"FROM 'd/*.parquet'\" | ease info -",
                          "  python -m ease d | ease info -"])
        self.assertEqual(self.lines("info", "d/*"),
                         ["  duckdb -csv -c \"FROM 'd/*'\" | ease info -"])

    def test_the_lines_read_the_file(self):
        """With the programs that the module's tests install, where they are."""
        place = os.environ.get("EASE_PARQUET_TOOLS")
        if not place:
            raise unittest.SkipTest("EASE_PARQUET_TOOLS names no folder with python and duckdb")
        made = subprocess.run(
            [os.path.join(place, "python"), "-c", "import pyarrow as pa, pyarrow.parquet as p;"
             "p.write_table(pa.table({'user': ['ü', 'b', 'ü', 'c'], 'item': ['x,1', 'x,1', 'y', 'y'],"
             "'rating': [1.5, 2.0, 3.0, 0.1]}), 'x.parquet')"],
            cwd=self.dir, stderr=subprocess.PIPE, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.write("x.csv", "user,item,rating\nü,\"x,1\",1.5\nb,\"x,1\",2\nü,y,3\nc,y,0.1\n")
        self.ease("train", "x.csv", "-o", "want.ease", "--lambda", 5, "--weights")
        self.ease("export", "want.ease", "-o", "want.npy", "--items", "want.txt")
        lines = self.lines("train", "x.parquet", "-o", "m.ease", "--lambda", 5, "--weights")
        self.assertEqual(len(lines), 2)
        for line in lines:
            env = dict(os.environ, PATH=os.pathsep.join([place, support.BUILD, os.environ["PATH"]]))
            done = subprocess.run(["sh", "-c", line], cwd=self.dir, env=env, check=False,
                                  stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, (line, done.stderr))
            self.ease("export", "m.ease", "-o", "m.npy", "--items", "m.txt")
            self.assertEqual(self.read("m.npy"), self.read("want.npy"), line)
            self.assertEqual(self.read("m.txt"), self.read("want.txt"), line)
            os.unlink(self.path("m.ease"))


if __name__ == "__main__":
    support.main()
