"""Training with the matrix in a file: the same model, in less memory."""
import json
import os
import signal
import subprocess
import time
import unittest

import support


class OutOfCore(support.Case):
    ITEMS = 5000

    def setUp(self):
        super().setUp()
        self.data = self.path("x.csv")
        self.work = self.path("work")
        os.mkdir(self.work)
        self.ease("synth", "-o", self.data, "--users", 5000, "--items", self.ITEMS,
                  "--interactions", 100000, "--seed", 1, "--quiet")

    def plan(self, *more):
        return json.loads(self.ease("plan", self.data, "--threads", 1, "--workdir",
                                    self.work, "--json", "--quiet", *more).out)

    def train(self, model, *more, code=0):
        return self.ease("train", self.data, "-o", model, "--lambda", 100, "--threads", 1,
                         *more, code=code)

    def test_the_model_file_is_the_same(self):
        a, b = self.path("a.ease"), self.path("b.ease")
        limit = self.plan()["least_bytes"]
        self.assertLess(limit, self.plan()["peak_bytes"])
        for storage in "f32", "f16", "packed":
            self.train(a, "--storage", storage, "--quiet")
            said = self.train(b, "--storage", storage, "--workdir", self.work,
                              "--memory-limit", limit).err
            self.assertIn("the matrix is in a work file in " + str(self.work), said)
            with open(a, "rb") as one, open(b, "rb") as other:
                self.assertEqual(one.read(), other.read())
            self.assertEqual(os.listdir(self.work), [])

    def test_the_plan_says_what_it_takes(self):
        least = self.plan()["least_bytes"]
        plan = self.plan("--memory-limit", least)
        self.assertTrue(plan["fits"])
        self.assertLessEqual(plan["peak_bytes"], least)
        self.assertGreater(plan["work_bytes"], 2 * self.ITEMS**2)
        self.assertGreater(plan["traffic_bytes"], plan["work_bytes"])
        self.assertEqual(self.plan()["traffic_bytes"], 0)

    def test_what_does_not_fit_is_refused_with_a_way_out(self):
        model, least = self.path("a.ease"), self.plan()["least_bytes"]
        said = self.train(model, "--memory-limit", least, code=4).err
        self.assertRegex(said, "--workdir DIR needs .* and .* on disk")
        said = self.train(model, "--memory-limit", least // 2, code=4).err
        self.assertIn("--min-item", said)
        self.assertNotIn("--workdir", said)
        said = self.train(model, "--memory-limit", least // 2, "--workdir", self.work,
                          code=4).err
        self.assertIn("beside a work file", said)

    def test_a_wrong_directory_is_known_before_reading(self):
        model = self.path("a.ease")
        said = self.train(model, "--workdir", self.path("none"), code=1).err
        self.assertIn("No such file", said)
        self.assertNotIn("users", said)
        said = self.train(model, "--workdir", self.data, code=1).err
        self.assertIn("Not a directory", said)

    def test_an_interrupt_leaves_nothing(self):
        p = subprocess.Popen([support.EASE, "train", self.data, "-o", self.path("a.ease"),
                              "--lambda", "100", "--threads", "1", "--workdir", self.work,
                              "--memory-limit", str(self.plan()["least_bytes"])],
                             stderr=subprocess.PIPE, text=True)
        for line in p.stderr:
            if "work file in" in line:
                break
        time.sleep(0.1)
        p.send_signal(signal.SIGINT)
        p.stderr.read()
        p.stderr.close()
        self.assertEqual(p.wait(support.PATIENCE), 130)
        self.assertEqual(os.listdir(self.work), [])
        self.assertFalse(os.path.exists(self.path("a.ease")))


if __name__ == "__main__":
    support.main()
