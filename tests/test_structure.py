"""scripts/check-structure finds each violation of its rules, and none in the sources."""

import shutil
import subprocess
import sys
from pathlib import Path

import support

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "check-structure"


class Structure(support.Case):
    def check(self, root):
        done = subprocess.run([sys.executable, str(SCRIPT), str(root)], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 1 if done.stdout else 0)
        return done.stdout

    def copy(self):
        root = Path(self.path("tree"))
        for folder in ("include", "src", "cli", "server"):
            shutil.copytree(ROOT / folder, root / folder)
        return root

    def finds(self, file, text, *words):
        """Adds text to a file of a fresh copy, which may be a new one."""
        root = self.copy()
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as f:
            f.write(text)
        found = self.check(root)
        shutil.rmtree(root)
        self.assertEqual(found.count("\n"), 1, found)
        for word in (file[:-2],) + words:
            self.assertIn(word, found)

    def test_the_sources_keep_to_the_rules(self):
        self.assertEqual(self.check(ROOT), "")

    def test_an_include_of_a_later_folder_is_found(self):
        self.finds("src/core/core.c", '#include "gram/gram.h"\n',
                   "core includes gram/gram.h")

    def test_a_call_of_a_later_folder_is_found(self):
        self.finds("src/eval/evaluate.c", "void f(void) { ease_tuning_free(NULL); }\n",
                   "eval calls ease_tuning_free of tune")

    def test_words_about_a_later_folder_are_no_call(self):
        root = self.copy()
        with open(root / "src/eval/evaluate.c", "a", encoding="utf-8") as f:
            f.write('/* ease_tuning_free(t) */\nconst char *s = "ease_tuning_free(t)";\n')
        self.assertEqual(self.check(root), "")

    def test_a_folder_without_a_place_is_found(self):
        self.finds("src/misc/stuff.c", "\n", "'misc' is not in the order")

    def test_another_include_guard_is_found(self):
        self.finds("src/core/new.h", "#ifndef EASE_ROWS_H\n#define EASE_ROWS_H\n#endif\n",
                   "EASE_ROWS_H, not EASE_CORE_NEW_H")

    def test_a_struct_that_is_there_already_is_found(self):
        self.finds("src/model/settings.h", "struct ease__grid {\n};\n", "ease__grid")

    def test_structs_that_differ_by_an_underscore_are_found(self):
        self.finds("src/model/settings.h", "struct ease__recipe {\n};\n",
                   "ease__recipe and ease_recipe differ")

    def test_a_basename_that_is_there_already_is_found(self):
        self.finds("src/tune/settings.c", "\n", "src/model and src/tune")

    def test_a_long_line_is_found(self):
        self.finds("src/core/core.c", f"/* {'long ' * 17}*/\n", "90 columns")

    def test_a_file_that_only_the_documentation_has_is_found(self):
        self.finds("docs/new.md", "See `src/core/rooms.c` and `src/core/core.c`.\n",
                   "new.md:1: there is no src/core/rooms.c")

    def test_a_function_that_only_the_documentation_has_is_found(self):
        self.finds("docs/design/new.md", "\nCall `ease_train` or `ease__learn`.\n",
                   "new.md:2: ease__learn is not in the sources")

    def test_a_status_that_only_the_documentation_has_is_found(self):
        self.finds("docs/new.md", "It fails with EASE_E_NOMEM or EASE_E_TIRED.\n",
                   "EASE_E_TIRED is not in the sources")

    def test_an_option_that_only_the_documentation_has_is_found(self):
        self.finds("README.md", "\n    ease train DATA --lambda 5 --fast -o MODEL\n",
                   "README.md:2: the program has no option --fast")

    def test_patterns_products_and_other_programs_are_no_names(self):
        root = self.copy()
        (root / "docs").mkdir()
        (root / "docs/new.md").write_text(
            "`src/core/NAME.c`, build/src/libease.a, `ease_<noun>_<verb>`, `ease__...`,\n"
            "tests/none.c of a tree without tests, ../include/ease.h\n\n"
            "    psql --file gram.sql | ease gram import -\n")
        self.assertEqual(self.check(root), "")


if __name__ == "__main__":
    support.main()
