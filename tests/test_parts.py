"""Several files as one data set: lists, directories of parts, patterns."""
import gzip
import json
import os
import unittest

import support
from support import Case

HEADER = "user,item,rating,date\n"


def rows(first, count):
    """Rows that differ in every file."""
    return [(f"u{i % 23}", f"i{i * 7 % 19}", i % 5 + 1, f"2024-0{1 + i % 9}-1{i % 10}")
            for i in range(first, first + count)]


def text(some):
    return "".join(",".join(map(str, r)) + "\n" for r in some)


class Parts(Case):
    def put(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if name.endswith(".gz"):
            content = gzip.compress(content.encode())
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())

    def model(self, *data, options=()):
        """The weights of a model, and its ids, which are in the order of the rows."""
        self.ease("train", *data, "-o", "m.ease", "--lambda", 2, "--quiet", *options)
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "w.txt", "--quiet")
        with open(self.path("w.npy"), "rb") as w, open(self.path("w.txt"), "rb") as ids:
            return w.read(), ids.read()

    def setUp(self):
        super().setUp()
        self.all = rows(0, 900)
        self.put("all/x.csv", HEADER + text(self.all))
        for i in range(3):  # as Spark writes them
            self.put(f"parts/part-0000{i}-c000.csv.gz",
                     HEADER + text(self.all[300 * i:300 * i + 300]))
        self.put("parts/part-00003-c000.csv", "")
        self.put("parts/_SUCCESS", "")
        self.put("parts/.part-00000-c000.csv.gz.crc", b"crc\0")
        self.want = self.model("all/x.csv")

    def test_parts_are_the_whole(self):
        names = sorted(f"parts/{n}" for n in os.listdir(self.path("parts")) if n[0] == "p")
        self.assertEqual(self.model("parts"), self.want)
        self.assertEqual(self.model("parts/"), self.want)
        self.assertEqual(self.model("parts/part-*"), self.want)
        self.assertEqual(self.model("p*s/part-0000[0-3]-c000.*"), self.want)
        self.assertEqual(self.model(*names), self.want)
        self.assertEqual(self.model(names[0], "parts/part-0000[12]-c000.csv.gz"), self.want)
        r = self.ease("train", "parts", "-o", "m.ease", "--lambda", 2)
        self.assertIn("parts: gzip, CSV with header in 4 files: user = user, item = item", r.err)

    def test_headers_may_be_in_the_first_file_alone(self):
        for i in range(9):  # as split -l writes them
            self.put(f"cut/x{i}", (HEADER if i == 0 else "") + text(self.all[100 * i:][:100]))
            self.put(f"none/x{i}", text(self.all[100 * i:][:100]))
            self.put(f"bom/x{i}", "\ufeff\r\n" + HEADER.replace("\n", "\r\n")
                     + text(self.all[100 * i:][:100]).rstrip("\n"))
        self.assertEqual(self.model("cut"), self.want)
        self.assertEqual(self.model("none"), self.want)
        self.assertEqual(self.model("bom"), self.want)

    def test_verbs_read_parts(self):
        first = self.ease("split", "all/x.csv", "-o", "s", "--protocol", "random", "--json").out
        for data in (["parts"], ["parts/part-*"],
                     [f"parts/part-0000{i}-c000.csv.gz" for i in range(3)]):
            again = self.ease("split", *data, "-o", "s", "--protocol", "random", "--json").out
            facts = [{k: v for k, v in json.loads(t).items() if k != "seconds"}
                     for t in (first, again)]
            self.assertEqual(*facts)
        for verb in (["info"], ["plan"], ["gram", "-o", "x.gram"],
                     ["tune", "--lambda", "1,2", "--leave-one-out"]):
            self.ease(verb[0], *verb[1:], "parts/part-*")
        self.ease("recommend", "m.ease", "--users", "parts", "--csv")

    def test_json_lines_and_lists_have_parts(self):
        for i in range(3):
            some = self.all[300 * i:300 * i + 300]
            self.put(f"json/{i}.jsonl", "".join(
                json.dumps({"user": u, "item": x, "rating": r, "date": d}) + "\n"
                for u, x, r, d in some))
            self.put(f"lists/{i}.txt", "".join(f"{u} {x} i1\n" for u, x, *_ in some))
        self.assertEqual(self.model("json"), self.want)
        r = self.ease("info", "lists/*.txt")
        self.assertIn("adjacency lines in 3 files", r.out)

    def test_times_count_over_all_files(self):
        age = ["--half-life", 60]
        self.assertEqual(self.model("parts", options=age),
                         self.model("all/x.csv", options=age))

    def test_bad_lines_are_named_by_file_and_line(self):
        self.put("bad/1.csv", HEADER + "a,b,1,2024-01-01\n")
        self.put("bad/2.csv", "\n" + HEADER + "a,b,1,2024-01-01\na,b,2024-01-01\n")
        self.fails(3, r"bad/2\.csv:4: expected 4 fields, found 3", "info", "bad")
        self.put("bad/2.csv", "a,b,1,2024-01-01\na,b,x,2024-01-01\n")
        self.fails(3, r"bad/2\.csv:2: 'x' is not a number", "info", "bad")

    def test_files_of_other_columns_are_refused(self):
        self.put("order/1.csv", HEADER + "a,b,1,2024-01-01\n")
        for other in "item,user,rating,date\n", "customer,sku,stars,day\n", "user,item\n":
            self.put("order/2.csv", other + "a,b,1,2024-01-01\n")
            self.fails(3, r"order/2\.csv:1: another header than that of the first", "info", "order")
        self.put("order/1.csv", "a,b,1,2024-01-01\n")
        self.put("order/2.csv", HEADER + "a,b,1,2024-01-01\n")
        self.fails(3, r"order/2\.csv:1: a header, which the first file does not have", "info",
                   "order")

    def test_what_is_no_data_set_is_refused(self):
        self.put("mixed/a.csv", HEADER)
        self.put("mixed/README.md", "hello\n")
        self.fails(3, r"mixed: a directory with both .* and .*'mixed/\*\.csv'", "info", "mixed")
        self.ease("split", "all/x.csv", "-o", "s", "--protocol", "random")
        self.fails(3, "s: a split, where interactions are wanted: s/train.csv", "info", "s")
        self.put("deep/year=2024/a.csv", HEADER)
        self.fails(3, "deep: a directory without a data set", "info", "deep")
        self.put("deep/x.csv", HEADER)
        os.makedirs(self.path("deep/year=2023"))
        self.fails(3, "deep: a directory without a data set: its files are no parts, since "
                   r"year=2023 is a directory: name the files, as in 'deep/\*.csv'", "info", "deep")
        self.put("broken/x.csv", HEADER)
        os.symlink("nothing", self.path("broken/y.csv"))
        self.fails(3, r"broken: .*, since y\.csv is a link to nothing: name", "info", "broken")
        self.put("pipe/x.csv", HEADER)
        os.mkfifo(self.path("pipe/y.csv"))
        self.fails(3, r"pipe: .*, since y\.csv is not a file: name", "info", "pipe")
        self.fails(1, r"none/\*: no file matches", "info", "none/*")
        self.fails(3, r"dee\?: matches a directory, deep", "info", "dee?")
        self.fails(2, "standard input cannot be one of several", "train", "all/x.csv", "-", "-o",
                   "m", "--lambda", 1)
        self.fails(2, "the output is the input", "train", "parts", "all/x.csv", "-o", "all/x.csv",
                   "--lambda", 1)
        self.fails(2, "the output is the input", "train", "all/*.csv", "-o", "all/x.csv",
                   "--lambda", 1)
        self.put("mtx/1.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n")
        self.put("mtx/2.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n")
        self.fails(2, "2 files of the format mtx, which are not parts of one", "info", "mtx")
        self.put("empty/1.csv", "")
        self.put("empty/2.csv", "")
        self.fails(3, "empty: empty", "info", "empty")

    def test_a_name_with_the_letters_of_a_pattern_is_a_name(self):
        self.put("odd/x[1].csv", HEADER + text(self.all))
        self.assertEqual(self.model("odd/x[1].csv"), self.want)


if __name__ == "__main__":
    support.main()
