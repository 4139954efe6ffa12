"""What the README, the tutorial and the how-to guides show is what happens."""
import glob
import os
import re
import unittest

import documents
import engines
import support

# Pages that need more than the program are run by test_site.py, or with PostgreSQL.
MORE = {"docs/howto/application.md", "docs/howto/from-other-libraries.md",
        "docs/howto/postgresql.md"}


def pages():
    """All pages with commands, but those that need more."""
    found = ["README.md", "docs/tutorial.md", "docs/updating.md", "docs/server.md"]
    found += sorted(os.path.relpath(p, support.ROOT)
                    for p in glob.glob(os.path.join(support.ROOT, "docs/howto/*.md")))
    return [p for p in found if p not in MORE]


@unittest.skipIf(support.SANITIZED, "shown by the release build")
class Documents(support.Case):
    def run_page(self, page, **how):
        session = documents.Session(**how)
        self.addCleanup(session.close)
        count = 0
        for command, shown, printed in documents.run(page, session):
            self.assertTrue(documents.same(shown, printed),
                            f"{page}: $ {command}\nshows\n{shown}\nbut it prints\n{printed}")
            count += 1
        self.assertGreater(count, 0, page)

    def test_postgresql(self):
        server = engines.Postgres()
        self.addCleanup(server.close)
        self.run_page("docs/howto/postgresql.md",
                      env={"PGHOST": server.dir, "PGUSER": "ease", "PGDATABASE": "postgres"})

    def test_every_command_of_a_guide_is_run(self):
        for page in {*pages(), *MORE} - {"README.md", "docs/updating.md", "docs/server.md"}:
            text = documents.FENCE.sub("", documents.read(page))
            # Commands that need data which cannot be had here are indented, and few.
            self.assertLessEqual(len(re.findall(r"^ {4}ease ", text, re.M)), 4, page)

    def test_another_output_is_noticed(self):
        self.assertTrue(documents.same("a 0.1234567\n", "a 0.1234568\n"))
        self.assertTrue(documents.same("a\n...\nd\n", "a\nb\nc\nd\n"))
        self.assertTrue(documents.same("done in 3 s\n", "done in 1.5 s\n"))
        self.assertFalse(documents.same("a 0.1234\n", "a 0.1254\n"))
        self.assertFalse(documents.same("a\n...\nd\n", "a\nb\nc\n"))
        self.assertFalse(documents.same("", "warning\n"))

    def test_a_command_that_fails_is_noticed(self):
        session = documents.Session()
        self.addCleanup(session.close)
        with self.assertRaisesRegex(AssertionError, "exit 3"):
            session.run("true | (exit 3)")
        with self.assertRaisesRegex(AssertionError, "does not listen"):
            session.start("ease serve no-model.ease")


def page_test(page):
    return lambda self: self.run_page(page)


for found in pages():
    name = re.sub(r"\W+", "_", found.removesuffix(".md").removeprefix("docs/")).lower()
    setattr(Documents, f"test_{name}", page_test(found))


if __name__ == "__main__":
    support.main()
