"""Tags of items against NumPy, and how the program shows them."""
import json

import numpy as np
import numpy_ease
import scipy.sparse as sparse
import support


def numbered(names, rows):
    """T of rows (item, tag, weight); items that are not in `names` follow them."""
    items = {name: i for i, name in enumerate(names)}
    tags = {}
    at = [(tags.setdefault(t, len(tags)), items.setdefault(i, len(items)), w)
          for i, t, w in rows]
    k, j, w = zip(*at)
    return sparse.csr_matrix((w, (k, j)), shape=(len(tags), len(items))), list(items)


def cease(x, t, lam, a):
    x = sparse.hstack([x, sparse.csr_matrix((x.shape[0], t.shape[1] - x.shape[1]))])
    return numpy_ease.weights((x.T @ x + a * a * (t.T @ t)).toarray(), lam)


def genres_of_100k():
    with open(support.shared("ml-100k", "u.item"), encoding="latin-1") as f:
        return [(fields[0], str(k), 1.0) for fields in (line.rstrip("\n").split("|") for line in f)
                for k, flag in enumerate(fields[5:]) if flag == "1"]


class Tags(support.Case):
    def write_tags(self, rows, name="tags.csv"):
        self.write(name, "item,genre,weight\n" + "".join(
            f"{i},{t},{w!r}\n" for i, t, w in rows))

    def write_data(self, rows):
        self.write("x.csv", "user,item\n" + "".join(f"{u},{i}\n" for u, i in rows))

    def weights(self, *options):
        self.ease("train", "x.csv", "-o", "m.ease", "--storage", "f32", "--quiet", *options)
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "ids.txt", "--quiet")
        return np.load(self.path("w.npy")), self.read("ids.txt").decode().split("\n")[:-1]

    def check(self, want, ids, tolerance, *options):
        got, names = self.weights(*options)
        self.assertEqual(names, ids)
        self.assertLess(np.abs(got - want).max(), tolerance * np.abs(want).max())

    def small(self):
        rng = np.random.default_rng(3)
        pairs = [(f"u{u}", f"i{i}") for u in range(60) for i in rng.choice(40, 6, False)]
        rows = [(f"i{i}", f"g{k}", float(rng.integers(1, 7)) / 2)
                for i in range(45) for k in rng.choice(9, 2, False) if i % 4 != 1]
        self.write_data(pairs)
        self.write_tags(rows)
        return pairs, rows

    def test_weights_equal_numpy(self):
        pairs, rows = self.small()
        x, _, items = numpy_ease.matrix(pairs)
        t, ids = numbered(items, rows)
        self.assertGreater(len(ids), len(items))
        for a in (0.5, 1, 4):
            for precision in ("f32", "f64"):
                with self.subTest(a=a, precision=precision):
                    self.check(cease(x, t, 5, a), ids, 1e-4 if precision == "f32" else 1e-6,
                               "--lambda", 5, "--tags", "tags.csv", "--tag-weight", a,
                               "--precision", precision)

    def test_add_ease_equals_numpy(self):
        pairs, rows = self.small()
        x, _, items = numpy_ease.matrix(pairs)
        t, ids = numbered(items, rows)
        of_x = cease(x, t, 5, 0)
        of_t = numpy_ease.weights((t.T @ t).toarray(), 2)
        for blend in (0.3, 1):
            self.check((1 - blend) * of_x + blend * of_t, ids, 1e-4, "--lambda", 5, "--tags",
                       "tags.csv", "--model", "add-ease", "--set",
                       f"blend={blend},tag-lambda=2")
        self.assertIn("blend=1,tag-lambda=2", self.ease("info", "m.ease").out)

    def test_genres_of_movielens_100k(self):
        rows = genres_of_100k()
        with open(support.shared("ml-100k", "u.data")) as f:
            pairs = [line.split("\t")[:2] for line in f]
        self.write_data(pairs)
        self.write_tags(rows)
        x, _, items = numpy_ease.matrix([tuple(p) for p in pairs])
        t, ids = numbered(items, rows)
        self.check(cease(x, t, 100, 2), ids, 1e-4, "--lambda", 100, "--tags", "tags.csv",
                   "--tag-weight", 2)
        of_t = numpy_ease.weights((t.T @ t).toarray(), 10)
        of_x = cease(x, t, 100, 0)
        self.check(0.8 * of_x + 0.2 * of_t, ids, 1e-4, "--lambda", 100, "--tags", "tags.csv",
                   "--model", "add-ease")

    def test_items_that_only_have_tags_are_recommended_and_explained(self):
        self.write_data([(f"u{u}", f"{kind}{i}") for kind in "ab" for u in range(20)
                         for i in range(6) if (u + i + (kind == "b")) % 3])
        self.write_tags([(f"{kind}{i}", kind, 1.0) for kind in "ab" for i in range(6)] +
                        [("new", "a", 1.0)])
        self.ease("train", "x.csv", "-o", "m.ease", "--lambda", 2, "--tags", "tags.csv",
                  "--tag-weight", 3)
        info = json.loads(self.ease("info", "m.ease", "--json").out)
        self.assertEqual((info["items"], info["tags"], info["tag_kinds"]),
                         (13, 2, [{"id": "genre", "count": 2}]))
        lists = json.loads(self.ease("recommend", "m.ease", "--history", "a0,a1,a2", "--json",
                                     "-k", 4).out)
        self.assertIn("new", [item["id"] for item in lists["items"]])
        made = self.ease("explain", "m.ease", "--history", "a0,b1", "new")
        self.assertRegex(made.out, r"new  \[genre=a\]\n")
        self.assertRegex(made.out, r"a0 *\[genre=a\]\n")
        self.assertRegex(made.out, r"b1\n")
        made = json.loads(self.ease("explain", "m.ease", "--history", "a0,b1", "new",
                                    "--json").out)
        self.assertEqual(made["tags"], ["genre=a"])
        self.assertEqual({r["id"]: r["shared_tags"] for r in made["reasons"]},
                         {"a0": ["genre=a"], "b1": []})
        made = self.ease("explain", "m.ease", "--history", "a0,b1", "new", "--csv").out
        self.assertIn("role,item,contribution,shared_tags\n", made)

    def test_a_weight_of_0_keeps_tags_only(self):
        self.small()
        plain = self.weights("--lambda", 5)
        kept = self.weights("--lambda", 5, "--tags", "tags.csv", "--tag-weight", 0)
        self.assertEqual(plain[1], kept[1])
        self.assertEqual(plain[0].tobytes(), kept[0].tobytes())
        self.assertRegex(self.ease("info", "m.ease").out, r"9 +genre\n")
        blended = self.weights("--lambda", 5, "--tags", "tags.csv", "--model", "add-ease", "--set",
                               "blend=0")
        self.assertEqual(plain[0].tobytes(), blended[0].tobytes())

    def test_a_gram_file_gives_the_same_model(self):
        self.small()
        self.ease("gram", "x.csv", "-o", "x.gram", "--quiet")
        for model in (["ease"], ["add-ease", "--set", "blend=0.5"]):
            self.weights("--lambda", 5, "--tags", "tags.csv", "--model", *model)
            want = self.read("w.npy")
            self.ease("train", "--gram", "x.gram", "-o", "m.ease", "--lambda", 5, "--tags",
                      "tags.csv", "--storage", "f32", "--model", *model)
            self.ease("export", "m.ease", "-o", "g.npy", "--quiet")
            self.assertEqual(self.read("g.npy"), want)

    def test_tune_and_compare_use_tags(self):
        self.small()
        self.ease("split", "x.csv", "-o", "split", "--protocol", "random", "--quiet")
        made = json.loads(self.ease("tune", "split", "-o", "t.ease", "--lambda", "5,50", "--tags",
                                    "tags.csv", "--json", "--metric", "ndcg@10").out)
        self.assertEqual(len(made["trials"]), 2)
        self.assertIn("genre", self.ease("info", "t.ease").out)
        made = json.loads(self.ease("tune", "split", "-o", "t.ease", "--model", "add-ease",
                                    "--lambda", "5", "--grid", "blend=0|0.5|1", "--tags",
                                    "tags.csv", "--json", "--metric", "ndcg@10").out)
        self.assertEqual(len(made["trials"]), 3)
        made = json.loads(self.ease("compare", "split", "--models", "ease,add-ease,popularity",
                                    "--lambda", "5", "--tags", "tags.csv", "--json").out)
        self.assertEqual([m["model"] for m in made["models"]],
                         ["ease", "add-ease", "popularity"])
        plan = json.loads(self.ease("plan", "x.csv", "--tags", "tags.csv", "--json").out)
        self.assertEqual(plan["items"], 44)

    def test_bad_tags_are_refused(self):
        self.small()
        train = ["train", "x.csv", "-o", "m.ease", "--lambda", 5]
        self.write("bad.csv", "item,genre,weight\ni1,x,1\ni2,y,-1\n")
        self.fails(3, r"bad\.csv:3: the weight is negative: '-1'", *train, "--tags", "bad.csv")
        self.write("nan.csv", "item,genre,weight\ni1,x,nan\n")
        self.fails(3, r"nan\.csv:2: the weight is not a number", *train, "--tags", "nan.csv")
        self.write("none.csv", "item,genre\ni1,\n")
        self.fails(3, "no row has an item and a tag", *train, "--tags", "none.csv")
        self.write("other.csv", "item,genre\nother,x\n")
        self.fails(3, "the data has no item of the tags", *train, "--tags", "other.csv", "--tag-weight", 0)
        self.fails(3, "the data has no item of the tags", *train, "--tags", "other.csv")
        self.fails(1, "cannot open", *train, "--tags", "absent.csv")
        self.fails(2, "--tag-weight", *train, "--tags", "tags.csv", "--tag-weight", -1)
        self.fails(2, "--tag-split needs --tags", *train, "--tag-split", "|")
        self.fails(2, "add-ease needs --tags", *train, "--model", "add-ease")
        self.fails(2, "add-ease takes no --tag-weight", *train, "--model", "add-ease", "--tags",
                   "tags.csv", "--tag-weight", 2)
        self.fails(2, "no column 'tag'", *train, "--tags", "tags.csv", "--tag-columns",
                   "item,tag")
        self.fails(2, "f16 or f32", *train, "--model", "add-ease", "--tags", "tags.csv",
                   "--storage", "packed")
        self.write("wide.csv", "a,b,c\n1,2,3\n")
        self.fails(2, "--tag-columns ITEM,TAG", *train, "--tags", "wide.csv")

    def test_tags_of_unknown_items_are_noted(self):
        self.small()
        r = self.ease("train", "x.csv", "-o", "m.ease", "--lambda", 5, "--tags", "tags.csv",
                      "--tag-weight", 0)
        self.assertRegex(r.err, r'\d+ of \d+ items with tags are not in the data, such as "i4\d"')


if __name__ == "__main__":
    support.main()
