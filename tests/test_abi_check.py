"""scripts/check-abi refuses changes that break compiled programs, and accepts additions."""

import os
import shutil
import subprocess
import unittest

import support

SCRIPT = os.path.join(support.ROOT, "scripts", "check-abi")

HEADER = """
#include <stddef.h>
typedef struct ease_hidden ease_hidden;
typedef struct ease_toy_options {
    size_t size;
    int threads, k;
} ease_toy_options;
typedef struct ease_row {
    const int *items;
    long count;
} ease_row;
typedef enum ease_choice { EASE_ONE, EASE_TWO } ease_choice;
int ease_toy(const ease_toy_options *o, ease_row row, ease_choice choice);
int ease_other(ease_hidden *h);
"""

SOURCE = """
#include "toy.h"
struct ease_hidden { int a; };
int ease_toy(const ease_toy_options *o, ease_row row, ease_choice choice)
{
    return o->k + (int)row.count + (int)choice;
}
int ease_other(ease_hidden *h)
{
    return h->a;
}
"""


@unittest.skipIf(support.SANITIZED, "of a library without sanitizers")
@unittest.skipUnless(shutil.which("abidiff"), "abigail-tools are not installed")
class AbiCheck(support.Case):
    def build(self, header, source):
        """A library of its own; its path and that of its headers."""
        headers = self.path("include")
        os.makedirs(headers, exist_ok=True)
        self.write("include/toy.h", header)
        library = self.path("libtoy.so")
        subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-I", headers, "-o", library,
                        self.write("toy.c", source)], check=True)
        return library, headers

    def check(self, *args):
        return subprocess.run([SCRIPT, *args, self.path("toy.abi")], text=True,
                              capture_output=True, check=False)

    def changed(self, *changes):
        """What the script says of a library with these changes."""
        self.check("--renew", *self.build(HEADER, SOURCE))
        header, source = HEADER, SOURCE
        for old, new in changes:
            self.assertIn(old, header + source)
            header, source = header.replace(old, new), source.replace(old, new)
        return self.check(*self.build(header, source))

    def assert_refused(self, *changes):
        done = self.changed(*changes)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("would break", done.stderr)

    def assert_addition(self, *changes):
        done = self.changed(*changes)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("--renew", done.stdout)

    def test_the_same_interface_passes_without_a_word(self):
        done = self.changed()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_is_hidden_may_change(self):
        done = self.changed(("struct ease_hidden { int a; };",
                             "struct ease_hidden { double before; int a; };"))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stdout)

    def test_a_new_function_is_an_addition(self):
        self.assert_addition(("int ease_other(ease_hidden *h)\n{",
                              "int ease_new(void);\nint ease_new(void) { return 1; }\n"
                              "int ease_other(ease_hidden *h)\n{"))

    def test_a_member_at_the_end_of_options_is_an_addition(self):
        self.assert_addition(("    int threads, k;\n", "    int threads, k;\n    double more;\n"))

    def test_a_member_in_the_middle_is_refused(self):
        self.assert_refused(("    int threads, k;\n", "    double more;\n    int threads, k;\n"))

    def test_a_member_of_another_type_is_refused(self):
        self.assert_refused(("    int threads, k;\n", "    int threads;\n    float k;\n"))

    def test_a_longer_frozen_structure_is_refused(self):
        self.assert_refused(("    long count;\n", "    long count;\n    long more;\n"))

    def test_a_function_that_is_gone_is_refused(self):
        self.assert_refused(("int ease_other(", "static int ease_other("),
                            ("    return o->k +", "    (void)ease_other;\n    return o->k +"))

    def test_another_parameter_is_refused(self):
        self.assert_refused(("ease_row row, ease_choice choice)",
                             "ease_row row, ease_choice choice, double more)"))

    def test_other_values_of_constants_are_refused(self):
        self.assert_refused(("{ EASE_ONE, EASE_TWO }", "{ EASE_TWO, EASE_ONE }"))


if __name__ == "__main__":
    support.main()
