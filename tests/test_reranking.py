"""recommend and similar with --popularity-power, --only, --not and --at-most, against
NumPy."""

import json

from support import main
from small import ITEMS, Trained, history_of

TAGS = {"react": ["side=front", "by=meta"], "redux": ["side=front", "by=dan"],
        "webpack": ["side=front", "by=tobias"], "babel": ["side=front", "by=meta"],
        "express": ["side=back", "by=tj"], "mongoose": ["side=back", "by=tj"],
        "passport": ["side=back"], "lodash": []}


class Rerank(Trained):
    def setUp(self):
        super().setUp()
        self.write("tags.csv", "item,tag\n" + "".join(
            f"{i},{t}\n" for i, tags in TAGS.items() for t in tags))
        r = self.ease("train", "ratings.csv", "-o", "tagged.ease", "--lambda", self.LAMBDA,
                      "--storage", "f32", "--tags", "tags.csv", "--tag-weight", 0)
        self.assertEqual(r.code, 0, r)
        self.users = {i: len({u for u, j in self.pairs if j == i}) for i in ITEMS}

    def reranked(self, history, k=10, power=0.0, only=(), exclude=(), at_most=None):
        """Ids and scores by the plainest way."""
        taken, used = [], {}
        ranked = sorted(((score * self.users[i] ** power, i)
                         for i, score in self.expected(history, len(ITEMS))),
                        key=lambda pair: -pair[0])
        for score, i in ranked:
            tags = TAGS[i]
            kinds = {t.split("=")[0] for t in only}
            if not all(any(t in only and t.startswith(kind + "=") for t in tags)
                       for kind in kinds) or any(t in exclude for t in tags):
                continue
            capped = [t for t in tags if t.split("=")[0] in (at_most or {})]
            if any(used.get(t, 0) >= at_most[t.split("=")[0]] for t in capped):
                continue
            for t in capped:
                used[t] = used.get(t, 0) + 1
            taken.append((i, score))
        return taken[:k]

    def check_list(self, got, want):
        self.assertEqual([i["id"] for i in got], [i for i, _ in want])
        for i, (_, score) in zip(got, want):
            self.assertAlmostEqual(i["score"], score, delta=1e-5 * max(1, abs(score)))

    WAYS = [((), {}),
            (("--popularity-power", "-0.8"), {"power": -0.8}),
            (("--popularity-power", 1.5), {"power": 1.5}),
            (("--only", "side=back"), {"only": ["side=back"]}),
            (("--only", "side=front", "--only", "by=meta", "--only", "by=dan"),
             {"only": ["side=front", "by=meta", "by=dan"]}),
            (("--not", "by=tj", "--not", "by=dan"), {"exclude": ["by=tj", "by=dan"]}),
            (("--at-most", "side=1"), {"at_most": {"side": 1}}),
            (("--at-most", "side=2", "--at-most", "by=1", "--popularity-power", "-2"),
             {"at_most": {"side": 2, "by": 1}, "power": -2}),
            (("--only", "side=front", "--not", "by=dan", "--at-most", "by=1", "-k", 2),
             {"only": ["side=front"], "exclude": ["by=dan"], "at_most": {"by": 1},
              "k": 2})]

    def test_lists_are_those_of_numpy(self):
        for options, how in self.WAYS:
            r = self.ease("recommend", "tagged.ease", "--history", "react,express", "--json",
                          *options)
            self.check_list(json.loads(r.out)["items"],
                            self.reranked(["react", "express"], **how))

    def test_all_users_get_the_list_of_their_history(self):
        for options, how in self.WAYS:
            r = self.ease("recommend", "tagged.ease", "--users", "ratings.csv", "--json",
                          *options)
            for line in r.out.splitlines():
                got = json.loads(line)
                self.check_list(got["items"], self.reranked(
                    history_of(self.pairs, got["user"]), **how))

    def test_factors_are_shown_and_reasons_explain_the_score_without(self):
        r = self.ease("recommend", "tagged.ease", "--history", "react,redux,lodash",
                      "--popularity-power", "-0.7", "--reasons", 9, "--json")
        for i in json.loads(r.out)["items"]:
            self.assertAlmostEqual(i["factor"], self.users[i["id"]] ** -0.7, delta=1e-6)
            self.assertAlmostEqual(sum(x["contribution"] for x in i["reasons"]) * i["factor"],
                                   i["score"], delta=1e-6)
        r = self.ease("recommend", "tagged.ease", "--history", "react", "--reasons", 1,
                      "--popularity-power", "-0.7", "-k", 1)
        item, score = self.reranked(["react"], 1, -0.7)[0]
        factor = self.users[item] ** -0.7
        self.assertIn("because of react ", r.out)
        self.assertIn(f", times {factor:.3g} for its popularity", r.out)
        self.assertRegex(r.out, rf"in all \+{score / factor:.3f}")
        r = self.ease("recommend", "tagged.ease", "--history", "react", "--reasons", 1, "--json")
        self.assertNotIn("factor", r.out)

    def test_csv_has_the_scores_of_json(self):
        how = ("recommend", "tagged.ease", "--history", "react", "--popularity-power", 1,
               "--at-most", "side=1")
        items = json.loads(self.ease(*how, "--json").out)["items"]
        rows = self.ease(*how, "--csv").out.splitlines()
        self.assertEqual(rows[0], "user,rank,item,score,fallback")
        self.assertEqual([r.split(",")[2] for r in rows[1:]], [i["id"] for i in items])
        for row, i in zip(rows[1:], items):
            self.assertAlmostEqual(float(row.split(",")[3]), i["score"], delta=1e-6)

    def test_lists_of_items_combine_with_tags(self):
        self.write("some.txt", "babel\nexpress\nmongoose\nwebpack\n")
        self.write("one.txt", "mongoose\n")
        r = self.ease("recommend", "tagged.ease", "--history", "react", "--allow", "some.txt",
                      "--deny", "one.txt", "--not", "by=tobias", "--json")
        self.assertEqual({i["id"] for i in json.loads(r.out)["items"]}, {"babel", "express"})

    def test_popular_items_are_chosen_by_tags_too(self):
        r = self.ease("recommend", "tagged.ease", "--history", "none", "--at-most", "side=1",
                      "--json")
        got = json.loads(r.out)
        self.assertEqual(got["fallback"], "popular")
        best = sorted(self.ids, key=lambda i: -self.users[i])
        front, back = (next(i for i in best if f"side={s}" in TAGS[i]) for s in ("front", "back"))
        self.assertEqual([i["id"] for i in got["items"]],
                         [i for i in best if i in ("lodash", front, back)])

    def test_similar_items_are_reranked(self):
        def similar(*options):
            r = self.ease("similar", "tagged.ease", "react", "--json", *options)
            return json.loads(r.out)["items"]

        plain = {i["id"]: i["similarity"] for i in similar()}
        got = similar("--popularity-power", "-1", "--not", "side=back", "--at-most", "by=1")
        want = sorted((plain[i] / self.users[i], i) for i in plain if "side=back" not in TAGS[i])
        self.assertEqual([i["id"] for i in got], [i for _, i in reversed(want)])
        for i, (number, _) in zip(got, reversed(want)):
            self.assertAlmostEqual(i["similarity"], number, delta=1e-6)
            self.assertAlmostEqual(i["factor"], 1 / self.users[i["id"]], delta=1e-6)

    def test_unknown_tags_name_the_nearest(self):
        for options, text in (
                (("--only", "side=frnt"), r"did you mean side=front\?"),
                (("--not", "sde=front"), r"did you mean side=front\?"),
                (("--not", "colour=red"), "no tags of kind 'colour'; its kinds of tags are "),
                (("--at-most", "sides=1"), r"did you mean side\?"),
                (("--at-most", "colour=1"), "its kinds of tags are ")):
            for verb in ("recommend", "--history", "react"), ("similar", "react"):
                self.fails(3, text, verb[0], "tagged.ease", *verb[1:], *options)

    def test_nonsense_is_refused(self):
        for options, text in (
                (("--only", "front"), "KIND=VALUE"), (("--not", "=front"), "KIND=VALUE"),
                (("--only", "side="), "KIND=VALUE"), (("--at-most", "side"), "KIND=N"),
                (("--at-most", "side=0"), "KIND=N"), (("--at-most", "side=-1"), "KIND=N"),
                (("--at-most", "side=2x"), "KIND=N"), (("--at-most", "=2"), "KIND=N"),
                (("--popularity-power", "10.5"), "-10 .. 10"),
                (("--popularity-power", "-11"), "-10 .. 10"),
                (("--popularity-power", "nan"), "number")):
            for verb in ("recommend", "--history", "react"), ("similar", "react"):
                self.fails(2, text, verb[0], "tagged.ease", *verb[1:], *options)

    def test_models_without_tags_say_how_to_get_them(self):
        for options in ("--only", "a=b"), ("--not", "a=b"), ("--at-most", "a=1"):
            self.fails(2, "train it with --tags", "recommend", "model.ease", "--history",
                       "react", *options)


if __name__ == "__main__":
    main()
