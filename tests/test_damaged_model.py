"""Models that are damaged, or that change while the program reads them."""
import os
import random
import struct
import subprocess
import unittest

import support

BLOCK = 1 << 20


def sections(path):
    """(name, offset, bytes, whether it is large) of each, by docs/file-formats.md."""
    with open(path, "rb") as f:
        header = f.read(4096)
    count = struct.unpack_from("<I", header, 32)[0]
    for i in range(count):
        name, offset, size, _, large = struct.unpack_from("<16sQQQQ", header, 48 + 48 * i)
        yield name.rstrip(b"\0").decode(), offset, size, bool(large)


def flip(path, at, bits=0x40):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ bits]))


class Damage(support.Case):
    ITEMS = 3000  # 18 MB in float16: past what is read when a model is opened

    def setUp(self):
        super().setUp()
        r = random.Random(1)
        rows = ["user,item"] + [f"all,{i}" for i in range(self.ITEMS)]  # row i is item i
        rows += [f"u{u},{i}" for u in range(900)
                 for i in {r.randrange(self.ITEMS) for _ in range(20)}]
        self.write("data.csv", "\n".join(rows) + "\n")
        self.ease("train", "data.csv", "-o", "model.ease", "--lambda", "50", "-q")

    def uses(self):
        yield "recommend", "model.ease", "--users", "data.csv", "--csv", "-q"
        yield "recommend", "model.ease", "--history", "1,5,2999", "--csv"
        yield "similar", "model.ease", "5", "--csv"
        yield "explain", "model.ease", "--history", "1,5,2999", "17", "--json"
        yield "export", "model.ease", "-o", "-", "--top", "1", "-q"
        yield "eval", "model.ease", "--input", "data.csv", "--target", "data.csv", "--json", "-q"
        yield "plot", "weights", "model.ease", "-o", "weights.svg", "--json", "-q"

    def test_no_verb_uses_a_damaged_block(self):
        whole = [self.ease(*use).out for use in self.uses()]
        weights = next(s for s in sections(self.path("model.ease")) if s[3])
        found = [0] * len(whole)
        for at in (12345, 7 * BLOCK + 1, weights[2] - 100):
            flip(self.path("model.ease"), weights[1] + at)
            for i, use in enumerate(self.uses()):
                r = support.run(*use, cwd=self.dir)
                if r.code == 3:
                    self.assertRegex(r.err, "model.ease: damaged: wrong checksum in section "
                                            "'weights', block [0-9]+ of 18")
                    self.assertEqual(r.out, "", use)
                    found[i] += 1
                else:
                    self.assertEqual((r.code, r.out), (0, whole[i]), use)
                self.ease(*use, "--no-verify")
            flip(self.path("model.ease"), weights[1] + at)
        # The history has items of the first and the last block.
        self.assertEqual(found, [3, 2, 1, 2, 3, 3, 3])

    def test_every_other_section_is_verified_when_the_model_is_opened(self):
        for name, offset, size, large in sections(self.path("model.ease")):
            if large or not size:
                continue
            flip(self.path("model.ease"), offset + size // 2)
            self.fails(3, f"damaged: wrong checksum of section '{name}'", "recommend",
                       "model.ease", "--history", "1")
            self.fails(3, "damaged", "recommend", "model.ease", "--history", "1", "--no-verify")
            flip(self.path("model.ease"), offset + size // 2)

    @staticmethod
    def export(name):
        return "export", name + ".ease", "-o", "-", "--top", "100", "-q"

    def changed_while_exported(self, change):
        """Exports to a pipe that is read only after `change`."""
        with subprocess.Popen([support.EASE, *self.export("model")], cwd=self.dir, bufsize=0,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            first = p.stdout.read(10)
            change()
            out, err = p.communicate(timeout=support.PATIENCE)
        return p.returncode, (first + out).decode(), err.decode()

    def test_a_model_that_becomes_shorter_ends_with_exit_3(self):
        whole = self.ease(*self.export("model")).out
        code, out, err = self.changed_while_exported(
            lambda: os.truncate(self.path("model.ease"), 8192))
        self.assertEqual((code, err),
                         (3, "ease: model.ease: was changed while in use; open it again\n"))
        self.assertTrue(whole.startswith(out))

    def test_a_model_overwritten_in_place_ends_with_exit_3(self):
        self.ease("train", "data.csv", "-o", "other.ease", "--lambda", "90", "-q")
        whole, other = (self.ease(*self.export(m)).out for m in ("model", "other"))

        def overwrite():
            with open(self.path("model.ease"), "r+b") as f:
                f.write(self.read("other.ease"))

        code, out, err = self.changed_while_exported(overwrite)
        self.assertEqual((code, err),
                         (3, "ease: model.ease: was changed while in use; open it again\n"))
        self.assertTrue(whole.startswith(out))
        self.assertNotEqual(whole, other)

    def test_a_model_replaced_by_another_is_read_to_its_end(self):
        whole = self.ease(*self.export("model")).out
        code, out, err = self.changed_while_exported(
            lambda: self.ease("train", "data.csv", "-o", "model.ease", "--lambda", "90", "-q"))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, whole)


if __name__ == "__main__":
    support.main()
