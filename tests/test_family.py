"""The closed-form family against NumPy in float64."""
import filecmp
import json
import os

import numpy as np
import numpy_ease
import numpy_family as twin
import scipy.sparse
import support

# Name, settings, lambda, options, and the weights by the member's own formula.
MEMBERS = [
    ("edlae", "dropout=0.4", 20, lambda x: twin.edlae(x, 20, 0.4)),
    ("rlae", "relaxation=0.3", 20, lambda x: twin.rlae(x, 20, 0.3)),
    ("rlae", "relaxation=1", 20, lambda x: twin.rlae(x, 20, 1)),
    ("rdlae", "dropout=0.2,relaxation=0.6", 20, lambda x: twin.rdlae(x, 20, 0.2, 0.6)),
    ("dan", "dropout=0.1,user-power=0.4,item-power=0.3", 5,
     lambda x: twin.dan(x, 5, 0.1, 0.4, 0.3)),
    ("dan", "user-power=1,item-power=-0.5,relaxation=0.3", 0.5,
     lambda x: twin.dan(x, 0.5, 0, 1, -0.5, 0.3)),
    ("ease-rescaled", "power=0.3", 20, lambda x: twin.rescaled(x, 20, 0.3)),
    ("ease-ips", "power=0.3", 20,
     lambda x: twin.ips(x, 20, 0.3, twin.propensities_by_sigmoid)),
    ("ease-ips", "propensity=power,power=0.3", 20,
     lambda x: twin.ips(x, 20, 0.3, twin.propensities_by_power)),
    ("mrf", "", 20, lambda x: twin.mrf(x, 20, 0.75)),
    ("mrf", "lambda-power=1.2", 3, lambda x: twin.mrf(x, 3, 1.2)),
]

# Settings of ease-family: as text, and as the twin takes them.
EVERYTHING = {"lambda-power": 0.5, "dropout": 0.3, "user-power": 0.5, "relaxation": 0.4,
              "input-power": 0.2, "output-power": -0.1}
SOME = [EVERYTHING, {"lambda-power": -0.5}, {"user-power": -0.5, "dropout": 0.5},
        {"relaxation": 0.8, "user-power": 1.5}, {"input-power": -1, "output-power": 1}]
BESIDE_CORRELATION = ("user-power", "relaxation", "input-power", "output-power")


def text_of(settings):
    return ",".join(f"{name}={value}" for name, value in settings.items())


def words_of(settings):
    return {name.replace("-", "_"): value for name, value in settings.items()}


def options(name, lam, settings="", kind="counts"):
    return ["--model", name, "--lambda", lam, *(["--set", settings] if settings else []),
            *(["--kind", kind] if kind != "counts" else [])]


class Checks(support.Case):
    """self.data, which may have weights, is read as self.x."""

    weighted = False

    def train(self, name, *options, data=True):
        model = self.path(name)
        reading = [self.data] + (["--weights"] if self.weighted else []) if data else []
        if "--threads" not in options:
            options += ("--threads", 1)
        self.ease("train", *reading, "-o", model, "--storage", "f32", "--quiet", *options)
        return model

    def weights(self, model):
        self.ease("export", model, "-o", self.path("w.npy"), "--quiet")
        return np.load(self.path("w.npy"))

    def check_single(self, got, want, what):
        """What is promised for solves in float32."""
        self.assertLessEqual(np.abs(got - want).max(), 1e-4 * np.abs(want).max(), what)
        self.assertTrue((np.diag(got) == 0).all(), what)

    def check_double(self, got, want, what):
        """After a solve in float64, five roundings to float32: of P, of its two scales, and of
        their products with it. Beside them, n eps cond of the solve, for lambda >= 0.5."""
        slack = 5 * 2.0**-24 * np.abs(want) + 1e-9 * np.abs(want).max()
        self.assertTrue((np.abs(got - want) <= slack).all(),
                        (what, (np.abs(got - want) - slack).max()))

    def check(self, want, *options):
        self.check_single(self.weights(self.train("m.ease", *options)), want, options)
        got = self.weights(self.train("m64.ease", *options, "--precision", "f64"))
        self.check_double(got, want, options)


class Members(Checks):
    """300 users, 60 items: one that everyone has, one that one user has."""

    @staticmethod
    def dense():
        rng = np.random.default_rng(31)
        print("seed 31")
        dense = (rng.random((300, 60)) < 0.3 * rng.random(60)).astype(float)
        dense[:, 7] = 1
        dense[:, 11] = 0
        dense[5, 11] = 1
        return dense

    def setUp(self):
        super().setUp()
        self.data = self.path("x.csv")
        dense = self.dense()
        with open(self.data, "w") as f:
            f.write("user,item,value\n")
            f.writelines(f"u{u},i{i},{dense[u, i]:.9g}\n" for u in range(len(dense))
                         for i in np.flatnonzero(dense[u]))
        first = {}
        for u in range(len(dense)):
            for i in np.flatnonzero(dense[u]):
                first.setdefault(i, len(first))
        self.x = scipy.sparse.csr_matrix(dense[:, list(first)])

    def test_each_member_equals_its_formula(self):
        for name, settings, lam, formula in MEMBERS:
            with self.subTest(name=name, settings=settings):
                self.check(formula(self.x), *options(name, lam, settings))

    def test_defaults_are_those_of_the_formulas(self):
        for name, want in (("edlae", twin.edlae(self.x, 20, 0.33)),
                           ("rlae", twin.rlae(self.x, 20, 0.5)),
                           ("rdlae", twin.rdlae(self.x, 20, 0.33, 0.5)),
                           ("dan", twin.dan(self.x, 20, 0, 0.5, 0.2)),
                           ("ease-rescaled", twin.rescaled(self.x, 20, 0.1)),
                           ("mrf", twin.mrf(self.x, 20, 0.75)),
                           ("ease-family", twin.ease(self.x, 20))):
            self.check(want, *options(name, 20))

    def test_weights_are_minima_of_the_losses(self):
        """Not by any inverse: each column is a least-squares problem of its own."""
        g, _ = twin.entries(self.x)
        for dropout, xi in ((0, 0), (0.4, 0), (0, 0.3), (0.2, 0.6), (0, 1)):
            ridge = 20 + dropout / (1 - dropout) * np.diag(g)
            self.check(twin.least_squares(g, ridge, xi),
                       *options("rdlae", 20, f"dropout={dropout},relaxation={xi}"))

    def test_the_family_has_every_setting_for_every_kind(self):
        for kind in ("counts", "covariance", "correlation"):
            for settings in SOME:
                if kind == "correlation":
                    settings = {k: v for k, v in settings.items() if k in BESIDE_CORRELATION}
                lam = 2 if kind == "correlation" else 20
                want, _ = twin.family(self.x, lam, kind, **words_of(settings))
                with self.subTest(kind=kind, settings=settings):
                    self.check(want, *options("ease-family", lam, text_of(settings), kind))

    def test_scores_have_the_base_of_their_kind(self):
        """With weights of users, means are weighted too."""
        for kind, settings in (("covariance", EVERYTHING),
                               ("correlation", {"user-power": 0.7, "output-power": 0.2})):
            w, c = twin.family(self.x, 5, kind, **words_of(settings))
            model = self.train("m.ease", *options("ease-family", 5, text_of(settings), kind))
            self.ease("export", model, "-o", self.path("w.npy"), "--items", self.path("ids"),
                      "--quiet")
            with open(self.path("ids")) as f:
                index = {line.rstrip("\n"): i for i, line in enumerate(f)}
            lines = self.ease("recommend", model, "--users", self.data, "-k", 20, "--json",
                              "--quiet", *(["--weights"] if self.weighted else [])).out
            for u, line in enumerate(map(json.loads, lines.splitlines())):
                scores = np.asarray(self.x[u] @ w).ravel() + c
                for item in line["items"]:
                    self.assertAlmostEqual(item["score"], scores[index[item["id"]]], delta=1e-4)

    def test_settings_without_effect_give_the_bits_of_ease(self):
        base = self.weights(self.train("e.ease", "--lambda", 20))
        centred = self.weights(self.train("c.ease", "--lambda", 20, "--kind", "covariance"))
        for name, settings in (("edlae", "dropout=0"), ("rlae", "relaxation=0"),
                               ("rdlae", "dropout=0,relaxation=0"),
                               ("dan", "user-power=0,item-power=0"),
                               ("ease-rescaled", "power=0"), ("ease-ips", "power=0"),
                               ("ease-ips", "power=0,propensity=power"), ("ease-family", ""),
                               ("mrf", "lambda-power=0")):
            got = self.weights(self.train("n.ease", *options(name, 20, settings)))
            want = centred if name == "mrf" else base
            self.assertEqual(got.tobytes(), want.tobytes(), name)

    def test_threads_do_not_change_a_bit(self):
        for kind in ("counts", "covariance"):
            how = options("ease-family", 5, text_of(EVERYTHING), kind)
            one = self.train("t1.ease", *how, "--threads", 1)
            two = self.train("t2.ease", *how, "--threads", 2)
            self.assertTrue(filecmp.cmp(one, two, shallow=False))

    def gram(self):
        self.ease("gram", self.data, "-o", self.path("x.gram"), "--quiet",
                  *(["--weights"] if self.weighted else []))
        return self.path("x.gram")

    def test_a_gram_file_gives_the_same_model(self):
        gram = self.gram()
        for name, settings, lam, _ in MEMBERS:
            if name == "dan":
                settings = "user-power=0,item-power=0.3,dropout=0.1"
            how = options(name, lam, settings)
            self.assertTrue(filecmp.cmp(
                self.train("direct.ease", *how),
                self.train("gram.ease", "--gram", gram, *how, data=False), shallow=False), name)


class Weighted(Members):
    """Values, not ones; formulas in X'X hold as they are."""

    weighted = True

    @staticmethod
    def dense():
        rng = np.random.default_rng(32)
        print("seed 32")
        dense = Members.dense() * (0.25 + rng.integers(1, 20, (300, 60)) / 4)
        dense[:, 7] = 1.25
        return dense

    def test_a_gram_file_gives_the_same_model(self):
        """Where the number of users of an item is not needed: a Gram file of weighted data
        does not have it."""
        gram = self.gram()
        for name, settings in (("rdlae", ""), ("mrf", ""), ("ease-family", "lambda-power=0.5"),
                               ("dan", "user-power=0,item-power=0,relaxation=0.2")):
            how = options(name, 5, settings)
            self.assertTrue(filecmp.cmp(
                self.train("direct.ease", *how),
                self.train("gram.ease", "--gram", gram, *how, data=False), shallow=False), name)
        for name, settings in (("ease-rescaled", ""), ("ease-ips", ""),
                               ("dan", "user-power=0"), ("ease-family", "input-power=1"),
                               ("dan", "user-power=0,item-power=0,dropout=0.5")):
            self.fails(3, f"{name} .*needs the number of users of each item", "train", "--gram",
                       gram, "-o", "w.ease", *options(name, 5, settings))
            self.assertFalse(os.path.exists(self.path("w.ease")))


class WorkFile(support.Case):
    """A matrix that does not fit into memory, whose rows come in bands."""

    MEMBERS = [("edlae", "", "counts"), ("dan", "dropout=0.2,relaxation=0.3", "counts"),
               ("mrf", "", "counts"), ("ease-ips", "", "counts"),
               ("ease-family", text_of(EVERYTHING), "covariance"),
               ("ease-family", "user-power=0.5,relaxation=0.4,output-power=0.1", "correlation")]

    def test_it_gives_the_same_bits(self):
        data, gram = self.path("x.csv"), self.path("x.gram")
        self.ease("synth", "-o", data, "--users", 3000, "--items", 3000, "--interactions",
                  60000, "--seed", 1, "--quiet")
        self.ease("gram", data, "-o", gram, "--quiet")
        plan = json.loads(self.ease("plan", data, "--threads", 1, "--workdir", ".", "--json",
                                    "--quiet").out)
        for name, settings, kind in self.MEMBERS:
            how = [*options(name, 20, settings, kind), "--threads", 1, "--storage", "packed"]
            # The family has a few numbers for each item and user beside EASE's.
            limit = plan["least_bytes"] + 8 * 3000 * 7
            self.ease("train", data, "-o", "memory.ease", *how, "--quiet")
            said = self.ease("train", data, "-o", "file.ease", "--workdir", ".", "--memory-limit",
                             limit, *how).err
            self.assertIn("the matrix is in a work file", said)
            self.assertEqual(self.read("memory.ease"), self.read("file.ease"), name)
            if "user-power" in settings or name == "dan":
                continue
            said = self.ease("train", "--gram", gram, "-o", "file.ease", "--workdir", ".",
                             "--memory-limit", limit, *how).err
            self.assertIn("the matrix is in a work file", said)
            self.assertEqual(self.read("memory.ease"), self.read("file.ease"), name)


class MovieLens(Checks):
    """All ratings of ml-100k as ones."""

    def setUp(self):
        super().setUp()
        self.data = support.shared("ml-100k", "u.data")
        with open(self.data) as f:
            self.x, _, _ = numpy_ease.matrix([line.split("\t")[:2] for line in f])

    def test_each_member_equals_its_formula(self):
        for name, settings, lam, formula in MEMBERS:
            model = self.train("m.ease", *options(name, lam, settings), "--precision", "f64")
            self.check_double(self.weights(model), formula(self.x), (name, settings))

    def test_the_family_has_every_setting(self):
        want, _ = twin.family(self.x, 20, "covariance", **words_of(EVERYTHING))
        self.check(want, *options("ease-family", 20, text_of(EVERYTHING), "covariance"))


class Refusals(support.Case):
    """Wrong options end before the data are read: there are none."""

    def refused(self, code, pattern, *args):
        r = self.fails(code, pattern, "train", "none.csv", "-o", "m.ease", *args)
        self.assertNotIn("No such file", r.err)

    def test_settings_out_of_range(self):
        for name, settings, pattern in (
                ("edlae", "dropout=1", "dropout: a number from 0 to 0.99"),
                ("edlae", "dropout=-0.1", "dropout"), ("edlae", "dropout=nan", "dropout"),
                ("edlae", "dropout=inf", "dropout"), ("edlae", "dropout=", "dropout"),
                ("edlae", "relaxation=0.1", "edlae has no setting 'relaxation'"),
                ("rlae", "relaxation=1.1", "relaxation"), ("dan", "user-power=3", "user-power"),
                ("dan", "item-power=-9", "item-power"), ("mrf", "lambda-power=-1", "lambda-power"),
                ("ease-rescaled", "power=nan", "power"), ("ease-ips", "power=-1", "power"),
                ("ease-ips", "propensity=cubic", "one of sigmoid.power"),
                ("ease-family", "output-power=2.5", "output-power"),
                ("ease-family", "dropout=0.1,dropout=0.2", "given twice")):
            self.refused(2, pattern, *options(name, 1, settings))

    def test_lambda(self):
        for name in ("ease-nonneg", "mrf", "dan"):
            self.refused(2, "lambda is required, since it cannot be chosen", "--model", name)
            for value in ("0", "-1", "nan", "inf"):
                self.refused(2, "--lambda", "--model", name, "--lambda", value)

    def test_what_correlation_has_already(self):
        for name, settings in (("edlae", ""), ("rdlae", ""), ("dan", "dropout=0.1"),
                               ("ease-family", "dropout=0.1")):
            self.refused(2, "correlation has no dropout",
                         *options(name, 1, settings, "correlation"))
        self.refused(2, "correlation has no power of the diagonal",
                     *options("ease-family", 1, "lambda-power=1", "correlation"))

    def test_options_of_other_models(self):
        for kind in ("covariance", "correlation"):
            self.refused(2, "mrf takes no --kind", *options("mrf", 1, "", kind))
        self.refused(2, "edlae takes no --nonnegative", "--model", "edlae", "--lambda", 1,
                     "--nonnegative")
        self.refused(2, "ease takes no --set", "--lambda", 1, "--set", "dropout=0.1")

    def test_weights_of_users_from_a_gram_file(self):
        for name, settings in (("dan", ""), ("ease-family", "user-power=0.1")):
            r = self.fails(2, f"the user power of {name} needs the interactions", "train",
                           "--gram", "none.gram", "-o", "m.ease", *options(name, 1, settings))
            self.assertNotIn("No such file", r.err)

    def test_a_lambda_that_leaves_no_weight(self):
        self.write("x.csv", "user,item\na,b\na,c\nd,b\n")
        for name in ("ease-nonneg", "mrf", "dan"):
            self.fails(5, "lambda", "train", "x.csv", "-o", "m.ease", "--model", name, "--lambda",
                       "1e300")


class Reports(support.Case):
    def test_settings_and_lambda_are_told(self):
        self.write("x.csv", "user,item\na,b\na,c\nd,b\nd,c\nd,e\n")
        out = self.ease("train", "x.csv", "-o", "m.ease", "--model", "rdlae", "--lambda", 3,
                        "--set", "dropout=0.25", "--json", "--quiet").out
        for told in (json.loads(out), json.loads(self.ease("info", "m.ease", "--json").out)):
            self.assertEqual(told["method"], "rdlae")
            self.assertEqual(told["lambda"], 3)
            self.assertEqual(told["settings"], "dropout=0.25,relaxation=0.5")
        out = self.ease("train", "x.csv", "-o", "m.ease", "--lambda", 3, "--json", "--quiet").out
        self.assertNotIn("settings", json.loads(out))

    def test_help_lists_the_family_with_its_publications(self):
        text = self.ease("help", "models").out
        for name, words in (("edlae", "NeurIPS 2020"), ("rlae", "SIGIR 2023"),
                            ("rdlae", "SIGIR 2023"), ("dan", "SIGIR 2025"),
                            ("ease-rescaled", "2019"), ("ease-ips", "2025"),
                            ("mrf", "NeurIPS 2019")):
            self.assertRegex(text, f"(?m)^{name}: .*{words}")


if __name__ == "__main__":
    support.main()
