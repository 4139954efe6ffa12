"""The results that are shown are within what rounding allows of the published ones."""
import os
import sys

import support

sys.path.insert(0, os.path.join(support.ROOT, "bench"))
import results  # noqa: E402


class Results(support.Case):
    def test_published_figures_are_met(self):
        self.assertIsNotNone(results.kept("gowalla"))
        self.assertEqual(list(results.missed()), [])

    def test_the_page_is_what_the_script_writes(self):
        with open(os.path.join(results.DOCS, "results.md")) as f:
            self.assertEqual(f.read(), "\n".join(results.page()).rstrip() + "\n")

    def test_the_script_would_tune_as_was_measured(self):
        for part in results.SYSTEM_PARTS:
            for row in results.kept(part)["models"]:
                with self.subTest(part=part, model=row["model"]):
                    self.assertEqual(
                        results.tuned_over(part, row["model"], row["usual_grid"]),
                        (row["grid"], row["fixed"]))

    def test_figures_of_the_page_exist(self):
        with open(os.path.join(results.DOCS, "results.md")) as f:
            for line in f:
                if line.startswith("!["):
                    name = line[line.index("(") + 1:line.rindex(")")]
                    self.assertTrue(os.path.exists(os.path.join(results.DOCS, name)), name)


if __name__ == "__main__":
    support.main()
