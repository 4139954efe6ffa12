"""Peak resident memory of training, and that the plan knows it."""
import json
import os
import subprocess

import support

MB = 1000000


def peak_bytes(*command):
    """Runs the program; its largest resident size."""
    p = subprocess.Popen([support.EASE, *map(str, command)], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE)
    text = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.stderr.close()
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise AssertionError(text.decode())
    return usage.ru_maxrss * 1024


class Memory(support.Case):
    def check(self, items, users, interactions):
        data, model = self.path("x.csv"), self.path("x.ease")
        self.ease("synth", "-o", data, "--users", users, "--items", items,
                  "--interactions", interactions, "--seed", 1, "--quiet")
        peak = peak_bytes("train", data, "-o", model, "--lambda", 100)
        bound = 2.2 * items**2 + 16 * interactions + 100 * MB
        plan = json.loads(self.ease("plan", "--items", items, "--users", users,
                                    "--interactions", interactions, "--json").out)
        print(f"{items} items, {interactions} interactions: peak {peak / MB:.0f} MB, "
              f"planned {plan['peak_bytes'] / MB:.0f} MB, bound {bound / MB:.0f} MB")
        self.assertLessEqual(peak, bound)
        self.assertLessEqual(peak, 1.1 * plan["peak_bytes"])
        self.assertGreaterEqual(peak, 0.6 * plan["peak_bytes"])

    def test_choosing_lambda(self):
        data = self.path("x.csv")
        self.ease("synth", "-o", data, "--users", 40000, "--items", 2048, "--interactions",
                  500000, "--seed", 1, "--quiet")
        plan = json.loads(self.ease("plan", data, "--json").out)
        peak = peak_bytes("train", data, "-o", self.path("x.ease"))
        print(f"lambda chosen: peak {peak / MB:.0f} MB, planned "
              f"{plan['auto_peak_bytes'] / MB:.0f} MB")
        self.assertLessEqual(peak, 1.1 * plan["auto_peak_bytes"])
        self.assertGreaterEqual(peak, 0.6 * plan["auto_peak_bytes"])

    def test_8192_items(self):
        self.check(8192, 60000, 3000000)

    def test_20480_items(self):
        self.check(20480, 100000, 5000000)

    def test_ease_sparse_keeps_to_the_limit(self):
        """Rows of X'X that were kept are returned before the weights are transposed. Beside
        what is counted, 12 MB are for the program, its libraries and stacks."""
        data = self.path("x.csv")
        self.ease("synth", "-o", data, "--users", 40000, "--items", 20000, "--interactions",
                  800000, "--seed", 1, "--quiet")
        limit = 120 * MB
        peak = peak_bytes("train", data, "-o", self.path("x.ease"), "--lambda", 50, "--model",
                          "ease-sparse", "--set", "neighbours=300", "--threads", 2,
                          "--memory-limit", limit)
        print(f"ease-sparse: peak {peak / MB:.0f} MB, limit {limit / MB:.0f} MB")
        self.assertLessEqual(peak, limit + 12 * MB)

    def test_tuning_ease_sparse_keeps_to_the_limit(self):
        """Weights with and without scales of items together take no more memory than
        transposing them, which every training counts."""
        data, split = self.path("x.csv"), self.path("split")
        self.ease("synth", "-o", data, "--users", 30000, "--items", 20000, "--interactions",
                  600000, "--seed", 1, "--quiet")
        self.ease("split", data, "-o", split, "--protocol", "liang18", "--heldout-users", 500,
                  "--quiet")
        limit = 90 * MB
        peak = peak_bytes("tune", split, "-o", self.path("x.ease"), "--model", "ease-sparse",
                          "--lambda", 50, "--set", "neighbours=150", "--grid",
                          "input-power=0|-0.1", "--threads", 2, "--memory-limit", limit)
        print(f"tuning ease-sparse: peak {peak / MB:.0f} MB, limit {limit / MB:.0f} MB")
        self.assertLessEqual(peak, limit + 12 * MB)

    def test_a_workdir_keeps_to_the_limit(self):
        data, model = self.path("x.csv"), self.path("x.ease")
        self.ease("synth", "-o", data, "--users", 60000, "--items", 8192,
                  "--interactions", 1000000, "--seed", 1, "--quiet")
        limit = 100 * MB  # the matrix takes 134
        peak = peak_bytes("train", data, "-o", model, "--lambda", 100, "--workdir",
                          self.dir, "--memory-limit", limit, "--threads", 2)
        print(f"8192 items in a work file: peak {peak / MB:.0f} MB, "
              f"limit {limit / MB:.0f} MB")
        self.assertLessEqual(peak, 1.1 * limit)


if __name__ == "__main__":
    support.main()
