"""Columns that the program recognizes, and guesses that it does not go by."""

import json

from support import Case, main


def table(header, row, rows=200):
    return (header + "\n" if header else "") + "".join(
        ",".join(map(str, row(k))) + "\n" for k in range(rows))


def user(k):
    return 100 + k * 7 % 23


def item(k):
    return f"A{k * 11 % 31:03d}"


class Columns(Case):
    def recognized(self, header, row, want):
        self.write("x.csv", table(header, row))
        r = self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        self.assertIn(want, r.err, r)
        self.assertIn("23 users, 31 items", r.err, r)
        return r

    def test_names_of_shops_are_known(self):
        self.recognized("Datum,Kunde,Artikel,Menge",
                        lambda k: ("2024-01-01", user(k), item(k), k % 4 + 1),
                        "user = Kunde, item = Artikel, value = Menge")
        self.recognized("event_id,ts,country,sku,client",
                        lambda k: (k, 1700000000 + k, "DE", item(k), user(k)),
                        "user = client, item = sku")
        self.recognized("produit,client", lambda k: (item(k), user(k)),
                        "user = client, item = produit")
        self.recognized("InvoiceNo,StockCode", lambda k: (user(k), item(k)),
                        "user = InvoiceNo, item = StockCode")

    def refused(self, header, row, line, what):
        """By all that would learn from it; by name it is read."""
        self.write("x.csv", table(header, row))
        for verb in (("train", "x.csv", "-o", "m", "--lambda", "1"),
                     ("gram", "x.csv", "-o", "g"), ("plan", "x.csv"),
                     ("split", "x.csv", "-o", "s", "--protocol", "random")):
            r = self.fails(2, what, *verb)
            self.assertIn(line, r.err, r)
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1", *line.replace("'", "").split())

    def test_unlikely_guesses_are_refused_with_the_line_to_type(self):
        self.refused(None, lambda k: ("shop", user(k), item(k)), "--columns '2,3'",
                     "x.csv: all rows are of one user")
        self.refused("asiakas,tuote", lambda k: (user(k), 7), "--columns 'tuote,asiakas'",
                     "all rows are of one item")
        self.refused(None, lambda k: (k, user(k), item(k)), "--columns '2,3'",
                     "each user has one row only")

    def test_another_reading_that_is_as_likely_is_refused(self):
        self.refused("customer_id,account_id,product",
                     lambda k: (user(k), 900 + k * 5 % 17, item(k)),
                     "--columns 'account_id,product'", "not clear")

    def test_what_is_not_learned_from_may_look_as_it_likes(self):
        self.write("x.csv", table("user,item", lambda k: (user(k), item(k))))
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        self.write("one.csv", "u1,A001\nu1,A002\n")
        self.ease("recommend", "m", "--users", "one.csv")
        self.write("last.csv", "".join(f"{u},A00{u % 9}\n" for u in range(100, 123)))
        self.ease("eval", "m", "--input", "x.csv", "--target", "last.csv")
        r = self.ease("info", "last.csv", "--json")
        self.assertEqual(json.loads(r.out)["users"], 23)
        self.assertIn("ease: warning: last.csv: each user has one row only", r.err)


class Values(Case):
    UNUSED = ("ratings are not used: every row counts as 1; "
              "--min-rating or --weights use them\n")

    def train(self, row, *options, header="user,item,rating", code=0):
        self.write("x.csv", table(header, row))
        return self.ease("train", "x.csv", "-o", "m", "--lambda", "1", *options, code=code)

    def test_values_that_are_not_used_are_said(self):
        def row(k):
            return user(k), item(k), k % 5 + 1

        self.assertIn(self.UNUSED, self.train(row).err)
        for options in (("--weights",), ("--min-rating", "2")):
            self.assertNotIn("not used", self.train(row, *options).err)
        self.assertNotIn("not used", self.train(lambda k: (user(k), item(k), 1)).err)
        r = self.ease("split", "x.csv", "-o", "s", "--protocol", "random")
        self.assertNotIn("not used", r.err)
        self.write("x.csv", table("user,item,rating", row))
        r = self.ease("split", "x.csv", "-o", "s", "--protocol", "random")
        self.assertIn("every row counts as 1; --min-rating uses them\n", r.err)

    def test_values_below_0_that_count_as_likes_are_a_warning(self):
        def row(k):
            return user(k), item(k), 1 if k % 4 else -1

        r = self.train(row, "-q")
        self.assertIn("ease: warning: ratings are not used: every row counts as 1, also 50 "
                      "with a value below 0; --min-rating or --weights use them\n", r.err)
        self.assertNotIn("below 0", self.train(row, "--weights").err)
        self.assertNotIn("below 0", self.train(row, "--min-rating", "0").err)

    def test_times_are_not_compared_with_a_rating(self):
        def row(k):
            return user(k), item(k), 978300760 + k

        r = self.train(row, "--min-rating", "4", header=None, code=2)
        self.assertRegex(r.err, r"a minimal rating needs a column of values.*time = column 3")
        r = self.train(lambda k: (*row(k), k % 5 + 1), "--min-rating", "4", header=None)
        self.assertIn("value = column 4", r.err)
        self.assertIn("120 below --min-rating", r.err)


if __name__ == "__main__":
    main()
