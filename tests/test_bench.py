"""`ease bench` and the profile of --verbose: what they say, not how long it took."""
import csv
import io
import json
import os
import re
import sys

import support

sys.path.insert(0, os.path.join(support.ROOT, "bench"))
import bench  # noqa: E402
import cuda  # noqa: E402

SMALL = ["--items", "150", "--users", "400", "--interactions", "6000", "--quick"]
RECORDS = ["sgemm", "copy", "read", "gram", "solve", "write-f32", "write-packed", "write-f16",
           "recommend", "update-come", "update-leave", "update-change", "leave"]


class Bench(support.Case):
    def check_record(self, name, r, repeat):
        self.assertGreater(r["rate"], 0, name)
        if name in ("sgemm", "copy"):
            self.assertNotIn("seconds", r)
            return
        self.assertEqual(len(r["seconds"]), repeat, name)
        self.assertGreater(min(r["seconds"]), 0, name)
        rated = r["median_seconds"] if name == "solve" else min(r["seconds"])
        self.assertAlmostEqual(r["rate"], r["amount"] / rated, delta=1e-6 * r["rate"])
        self.assertLessEqual(min(r["seconds"]), r["median_seconds"])

    def test_quick_measures_every_part(self):
        sizes = SMALL if support.SANITIZED else ["--quick"]
        d = json.loads(self.ease("bench", *sizes, "--repeat", "2", "--json").out)
        self.assertEqual(list(d["parts"]), RECORDS)
        for name, r in d["parts"].items():
            self.check_record(name, r, 2)
        parts, n = d["parts"], d["items"]
        self.assertEqual(parts["solve"]["amount"], n ** 3)
        self.assertAlmostEqual(parts["solve"]["of_limit"],
                               parts["solve"]["rate"] / parts["solve"]["sgemm"], places=9)
        self.assertLessEqual(parts["solve"]["sgemm"], parts["sgemm"]["rate"])
        self.assertEqual(parts["read"]["amount"], d["interactions"])
        self.assertGreater(parts["gram"]["amount"], d["interactions"])
        self.assertEqual(parts["recommend"]["amount"], d["users"])
        for name, rank in (("come", 100), ("leave", 100), ("change", 200)):
            r = parts["update-" + name]
            self.assertEqual(r["rank"], rank)
            self.assertEqual(r["amount"], n ** 2 * rank)
            self.assertLess(r["residual"], 1e-4)
            self.assertEqual(r["deviation"] > 0, name != "come")
        self.assertGreater(parts["leave"]["evaluated"], 0.9 * d["users"])
        self.assertAlmostEqual(parts["leave"]["of_limit"],
                               parts["leave"]["rate"] / parts["leave"]["recommend"], places=9)
        self.assertGreater(parts["write-f32"]["amount"], 1.9 * parts["write-f16"]["amount"] - 1e5)
        self.assertGreaterEqual(d["threads"], 1)
        self.assertEqual(os.listdir(self.dir), [])

    def test_parts_and_data_can_be_chosen(self):
        data = self.write("x.csv", "user,item\n" + "".join(
            f"u{u},i{(u * 7 + k * k) % 40}\n" for u in range(200) for k in range(1, 6)))
        d = json.loads(self.ease("bench", data, "--parts", "recommend,gram", "--json").out)
        self.assertEqual(list(d["parts"]), ["gram", "recommend"])
        self.assertEqual((d["users"], d["items"]), (200, 40))
        rows = list(csv.DictReader(io.StringIO(
            self.ease("bench", data, "--parts", "read", "--csv").out)))
        self.assertEqual([r["part"] for r in rows], ["read"])
        self.assertGreater(float(rows[0]["rate"]), 0)
        few = self.write("few.csv", "user,item\n" + "".join(
            f"u{u},i{(u + k) % 4}\n" for u in range(3) for k in range(2)))
        d = json.loads(self.ease("bench", few, "--parts", "update,leave", "--json").out)
        self.assertEqual(d["parts"]["update-leave"]["rank"], 1)
        self.assertEqual(d["parts"]["leave"]["evaluated"], 3)
        twisted = self.write("y.csv", "".join(
            f"shop,u{u},i{(u * 7 + k * k) % 40}\n" for u in range(200) for k in range(1, 6)))
        self.fails(2, "--columns '2,3'", "bench", twisted, "--parts", "read,gram")
        d = json.loads(self.ease("bench", twisted, "--columns", "2,3", "--parts", "read,gram",
                                 "--json").out)
        self.assertEqual((d["users"], d["items"]), (200, 40))
        self.fails(2, "--columns is for DATA", "bench", "--columns", "2,3")
        text = self.ease("bench", *SMALL, "--parts", "sgemm,solve").out
        self.assertRegex(text, r"(?m)^solve .*flop/s  sgemm +\d")

    def test_growth_fits_an_exponent_over_four_sizes(self):
        d = json.loads(self.ease("bench", *SMALL, "--growth", "--json", "--repeat", "1").out)
        for name, largest in (("solve", 150), ("read", 6000)):
            g = d["growth"][name]
            self.assertEqual(len(g["sizes"]), 4)
            self.assertEqual(g["sizes"][-1], largest)
            self.assertEqual(g["sizes"], sorted(g["sizes"]))
            self.assertIsInstance(g["exponent"], float)
        self.assertEqual(os.listdir(self.dir), [])

    def test_usage(self):
        self.fails(2, "no part 'sleep'", "bench", "--parts", "solve,sleep")
        self.fails(2, "synthetic", "bench", "x.csv", "--items", "10")
        self.fails(2, "standard input", "bench", "-")
        self.fails(1, "nowhere", "bench", "--quick", "--dir", "nowhere")


class Verbose(support.Case):
    """Where the time goes, by phase."""

    def setUp(self):
        super().setUp()
        self.ease("synth", "-o", "x.csv", "--users", "300", "--items", "60", "--interactions",
                  "4000", "-q")
        self.ease("train", "x.csv", "-o", "m.ease", "--lambda", "10", "-q")

    def phases(self, *args):
        lines = self.ease(*args, "--verbose").err.splitlines()
        lines = lines[lines.index("where the time went:") + 1:]
        found = [re.fullmatch(r"  (\S.*?) +(\d\S* \S.*?) +(\d+\.\d) %", s) for s in lines]
        self.assertTrue(all(found), lines)
        shares = {m[1]: float(m[3]) for m in found}
        self.assertEqual(shares.pop("all"), 100.0)
        self.assertAlmostEqual(sum(shares.values()), 100.0, delta=0.1 * len(shares))
        shares.pop("the rest")
        return list(shares)

    def test_train(self):
        self.assertEqual(self.phases("train", "x.csv", "-o", "n.ease", "--lambda", "10"),
                         ["reading", "planning", "counting pairs", "checking", "solving",
                          "writing"])

    def test_train_from_a_gram_file_and_gram(self):
        self.assertEqual(self.phases("gram", "x.csv", "-o", "x.gram"),
                         ["reading", "counting pairs", "writing the Gram matrix"])
        self.assertIn("solving", self.phases("train", "--gram", "x.gram", "-o", "n.ease",
                                             "--lambda", "10"))

    def test_recommend_and_eval(self):
        self.assertEqual(self.phases("recommend", "m.ease", "--users", "x.csv"),
                         ["reading", "recommending", "printing"])
        self.assertEqual(self.phases("eval", "m.ease", "--input", "x.csv", "--target", "x.csv",
                                     "--metrics", "coverage@5"), ["reading", "evaluating"])

    def test_tune(self):
        self.ease("split", "x.csv", "-o", "s", "--protocol", "random", "-q")
        found = self.phases("tune", "s", "-o", "t.ease", "--lambda", "10,100")
        for name in ("reading", "counting pairs", "solving", "evaluating", "writing"):
            self.assertIn(name, found)

    def test_json_of_train_has_the_phases(self):
        d = json.loads(self.ease("train", "x.csv", "-o", "n.ease", "--lambda", "10",
                                 "--json").out)
        self.assertEqual(list(d["phases"]), ["reading", "planning", "counting pairs", "checking",
                                             "solving", "writing"])
        self.assertLessEqual(sum(d["phases"].values()), 1.01 * d["seconds"] + 0.01)

    def test_quiet_wins(self):
        self.assertEqual(self.ease("train", "x.csv", "-o", "n.ease", "--lambda", "10", "-q",
                                   "--verbose").err, "")


class Page(support.Case):
    def test_the_page_is_what_the_script_writes(self):
        with open(bench.PAGE) as f:
            self.assertEqual(f.read(), bench.page_text())


class Gpu(support.Case):
    """bench/cuda.py, as far as it goes without a GPU."""

    def measured(self, items, precision, number_bytes):
        program, plugin = (os.path.join(support.BUILD, "tests", name)
                           for name in ("measure_backend", "libtoy_device.so"))
        text = cuda.run(program, plugin, items, 2, 5_000_000, precision)
        return cuda.parsed(text, items, number_bytes)

    def test_what_the_measuring_program_prints_is_read(self):
        for precision, number_bytes, least in (("f32", 4, 1e-9), ("f64", 8, 0)):
            d = self.measured(200, precision, number_bytes)
            self.assertGreaterEqual(d["probe"], 0)
            self.assertEqual(len(d["runs"]), 1)
            for r in (d["first"], *d["runs"]):
                self.assertGreater(r["seconds"], 0)
                self.assertEqual(r["device_bytes"], 1_000_000 * number_bytes // 4)
                self.assertEqual(r["triangle_bytes"], number_bytes * 200 * 200 // 2)
                self.assertTrue(least <= r["host_residual"] < 1e-5, r)
                self.assertGreater(r["host_bytes"], 0)

    def test_what_the_plugin_logs_is_read(self):
        log = ("GPU, float64: to the device 0.100 s, sweep 1.2500 s, 40.0 TFLOP/s, check and back "
               "0.200 s, residual 3.1e-12, 8.00 GB on the device\n"
               "items 9 seconds 1.5 predicted 1.4 device_bytes 100 residual 3.0e-12 "
               "host_bytes 50\n"
               "GPU, float32, 3 of 46 tile columns at a time: 3.000 s, 2.00 GB on the device\n"
               "items 9 seconds 3.1 predicted 1.4 device_bytes 60 residual 1.0e-5 "
               "host_bytes 50\n")
        d = cuda.parsed(log, 9, 4)
        self.assertEqual((d["first"]["arithmetic"], d["first"]["sweep"], d["first"]["residual"]),
                         ("float64", 1.25, 3.1e-12))
        self.assertEqual(d["runs"][0]["arithmetic"], "float32, 3 of 46 tile columns at a time")
        self.assertNotIn("sweep", d["runs"][0])
        self.assertEqual(d["runs"][0]["host_residual"], 1e-5)


if __name__ == "__main__":
    support.main()
