"""The program ease-cluster: several processes write the model file of one machine."""

import fcntl
import filecmp
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import BUILD, PATIENCE, Case, main, run

CLUSTER = os.path.join(BUILD, "ease-cluster")
PROCESSES = 1, 2, 3, 4, 5, 8
# Tile edges are 304 and 448: two tile rows with padding, and fewer tiles than processes;
# three tile rows; six.
ITEMS = 600, 1300, 2600
# Some 10^12 flops: mpirun ends the processes a second after it was interrupted.
LONG = 10000


def command(processes, *args):
    return ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", str(processes), CLUSTER,
            *map(str, args)]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]


@unittest.skipUnless(os.path.exists(CLUSTER) and shutil.which("mpirun"),
                     "no ease-cluster: make cluster builds it")
class Cluster(Case):
    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.store, ignore_errors=True)
        for items in *ITEMS, LONG:
            data = cls.data(items)
            run("synth", "-o", data, "--users", 3000, "--items", items, "--interactions",
                80000, "--seed", items, "--quiet")
            run("gram", data, "-o", cls.gram(items), "--quiet")

    @classmethod
    def gram(cls, items):
        return os.path.join(cls.store, f"{items}.gram")

    @classmethod
    def data(cls, items):
        return os.path.join(cls.store, f"{items}.csv")

    def train(self, processes, *args, code=0):
        done = subprocess.run(command(processes, "train", "-o", "c.ease", "--threads", 1, *args),
                              cwd=self.dir, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def start(self, items, processes):
        p = subprocess.Popen(command(processes, "train", "-o", "c.ease", "--threads", 1,
                                     "--gram", self.gram(items), "--lambda", 5),
                             cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        self.addCleanup(p.kill)
        return p

    def expect_same(self, processes, *args):
        """Each number of processes writes the file of one machine. Returns what the last
        run said."""
        said = ""
        self.ease("train", "-o", "one.ease", "--quiet", *args)
        for count in processes:
            said = self.train(count, *args)
            self.assertTrue(filecmp.cmp(self.path("one.ease"), self.path("c.ease"), False),
                            f"{count} processes: {args}")
            os.remove(self.path("c.ease"))
        return said

    def fails(self, code, pattern, processes, *args):
        """One line of the program's own, and no file."""
        said = self.train(processes, *args, code=code)
        lines = [line for line in said.splitlines() if line.startswith("ease-cluster: ")]
        self.assertEqual(len(lines), 1, said)
        self.assertRegex(lines[0], pattern)
        self.assertEqual([f for f in os.listdir(self.dir) if f.endswith(("part", ".ease"))], [])

    # ---- the same file ---------------------------------------------------------------

    def test_any_number_of_processes_writes_the_same_file(self):
        for items in ITEMS:
            self.expect_same(PROCESSES if items < 2600 else (2, 4),
                             "--gram", self.gram(items), "--lambda", 50)

    def test_every_kind_storage_and_precision_is_the_same(self):
        for args in (("--kind", "covariance", "--storage", "f32"),
                     ("--kind", "correlation", "--precision", "f64", "--storage", "packed"),
                     ("--storage", "packed")):
            self.expect_same((3, 4), "--gram", self.gram(1300), "--lambda", 50, *args)

    def test_weighted_data_is_the_same(self):
        with open(self.path("w.csv"), "w") as f:
            f.write("user,item,weight\n")
            for u in range(900):
                for k in range(1, 6):
                    f.write(f"u{u},i{(u * k * k) % 700},{k / 4}\n")
        self.ease("gram", "w.csv", "-o", "w.gram", "--weights", "--quiet")
        self.expect_same((2, 3), "--gram", self.path("w.gram"), "--lambda", 5)

    # ---- from data -------------------------------------------------------------------

    def test_data_give_the_same_file_at_any_number_of_processes(self):
        for items in ITEMS:
            self.expect_same((1, 2, 3, 5, 6) if items < 2600 else (2, 4, 9),
                             self.data(items), "--lambda", 50)

    def test_every_kind_storage_and_precision_is_the_same_from_data(self):
        for args in (("--kind", "covariance", "--storage", "f32"),
                     ("--kind", "correlation", "--precision", "f64", "--storage", "packed"),
                     ("--storage", "packed", "--precision", "f64")):
            self.expect_same((2, 3), self.data(1300), "--lambda", 50, *args)

    def ratings(self):
        """Values whose sums depend on the order of users, of pairs that repeat."""
        draw = random.Random(1)
        self.write("r.csv", "user,item,rating,time\n" + "".join(
            f"u{u},i{int(1300 * draw.random() ** 2)},{draw.uniform(0.1, 5):.3f},"
            f"{1700000000 + draw.randrange(10 ** 7)}\n"
            for u in range(2000) for _ in range(draw.randrange(40))))
        return self.path("r.csv")

    def test_weights_are_added_in_the_order_of_one_machine(self):
        ratings = self.ratings(), "--lambda", 5
        self.expect_same((1, 2, 3, 5), *ratings, "--weights")
        self.expect_same((3,), *ratings, "--weights", "--kind", "covariance")
        self.expect_same((2,), *ratings, "--weights", "--kind", "correlation", "--precision",
                         "f64")
        self.expect_same((3,), *ratings, "--half-life", 30, "--columns", "user,item,,time",
                         "--repeat", "max")

    def test_values_beyond_float32_are_solved_in_float64(self):
        with open(self.ratings(), encoding="ascii") as f:
            rows = [line.split(",") for line in f.readlines()[1:]]
        self.write("wide.csv", "user,item,rating\n" + "".join(
            f"{u},{i},{value}e17\n" for u, i, value, _ in rows))
        self.expect_same((2,), self.path("wide.csv"), "--lambda", 1e35, "--weights")

    def test_data_that_float32_cannot_solve_are_solved_in_float64(self):
        rows = [f"u{i},i{i},1000" for i in range(700)]
        self.write("twins.csv", "\n".join(["user,item,rating", *rows, "u650,i640,1000",
                                           "u640,i650,1000"]) + "\n")
        said = self.expect_same((2,), self.path("twins.csv"), "--lambda", 0.01, "--weights")
        self.assertIn("solving again in float64", said)

    def test_data_are_read_by_the_options_of_ease_train(self):
        ratings = self.ratings()
        for args in (("--min-rating", 3, "--min-user", 5, "--min-item", 8),
                     ("--min-user", 20, "--min-item", 12, "--one-pass"),
                     ("--since", "2023-12-01", "--until", "1704067200"),
                     ("--columns", "item,user"), ("--repeat", "sum", "--weights"),
                     ("--header", "no", "--separator", "comma", "--columns", "1,2"),
                     ("--format", "table", "--encoding", "latin-1")):
            self.expect_same((2,), ratings, "--lambda", 5, *args)

    def test_several_files_are_one_data_set(self):
        self.expect_same((3,), self.data(600), self.data(1300), self.data(2600), "--lambda", 50)

    def test_more_processes_than_users_write_the_same_file(self):
        self.write("few.csv", "user,item\na,x\nb,y\nb,x\n")
        self.expect_same((2, 5), self.path("few.csv"), "--lambda", 1)

    def test_standard_input_is_read(self):
        self.ease("train", self.data(600), "-o", "one.ease", "--lambda", 50, "--quiet")
        with open(self.data(600), "rb") as f:
            done = subprocess.run(command(2, "train", "-", "-o", "c.ease", "--lambda", 50,
                                          "--threads", 1), cwd=self.dir, stdin=f,
                                  stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(filecmp.cmp(self.path("one.ease"), self.path("c.ease"), False))

    def test_bad_data_end_with_the_codes_of_ease(self):
        data = self.data(600)
        lambda_ = "--lambda", 5
        self.fails(2, "either DATA or --gram FILE, not both", 2, data, "--gram", self.gram(600),
                   *lambda_)
        self.fails(2, "options for reading DATA do not apply", 2, "--gram", self.gram(600),
                   "--weights", *lambda_)
        self.fails(2, "does not take 'some'", 2, data, "--min-item", "some", *lambda_)
        self.fails(2, "weights need a column of values", 2, data, "--weights", *lambda_)
        self.fails(2, "no column 'a' in the header", 2, data, "--columns", "a,b", *lambda_)
        self.fails(2, "format 'none'", 2, data, "--format", "none", *lambda_)
        self.fails(1, "none.csv: cannot open", 3, "none.csv", *lambda_)
        self.fails(3, "a Gram file of ours", 2, self.gram(600), *lambda_)
        self.fails(3, "no interactions left", 2, data, "--min-user", 1000000, *lambda_)
        self.fails(3, "bad.csv:3: ", 2, self.write("bad.csv", "user,item\na,b\nc\n"), *lambda_)

    def test_the_input_is_not_replaced(self):
        self.write("in.csv", "user,item\na,x\nb,y\nb,x\n")
        self.fails(2, "the output is the input", 2, "in.csv", "--lambda", 5, "-o", "in.csv")
        self.fails(2, "the output is the input", 2, self.data(600), "in.csv", "--lambda", 5,
                   "-o", "in.csv")
        shutil.copy(self.gram(600), self.path("in.gram"))
        self.fails(2, "the output is the input", 2, "--gram", "in.gram", "--lambda", 5, "-o",
                   "in.gram")

    def test_too_little_memory_for_data_is_refused_by_numbers(self):
        data = self.data(1300), "--lambda", 5, "--memory-limit"
        self.fails(4, "reading needs .* the limit is 1 MB", 2, *data, "1M")
        self.fails(4, "needs .* for each: the limit is 30", 2, *data, "30M")

    def test_all_pairs_are_sent_once_from_process_to_process(self):
        said = self.train(3, self.data(1300), "--lambda", 50, "--verbose")
        sent = int(re.search("sent for it: ([0-9]+) bytes", said).group(1))
        edge = json.loads(self.ease("plan", "--items", 1300, "--json", "--quiet",
                                    "--nodes", 3).out)["tile_edge"]
        rows = 2**20 // (4 * 1300)
        begins = [b + k for b in range(0, 1300, edge) for k in range(0, edge, rows)
                  if b + k < 1300]
        strips = [(to - start) * to for start, to in zip(begins, [*begins[1:], 1300])]
        pieces = sum(min(edge, 1300 - top) * (top + edge) for top in range(0, 1300, edge))
        # Signs of life are sent meanwhile.
        self.assertLess(abs(sent - 4 * (2 * sum(strips) + pieces)), 10000)

    def test_several_threads_write_the_same_file(self):
        args = "--gram", self.gram(2600), "--lambda", 5
        self.ease("train", "-o", "one.ease", "--quiet", *args)
        self.train(2, *args, "--threads", 2)
        self.assertTrue(filecmp.cmp(self.path("one.ease"), self.path("c.ease"), False))
        self.train(2, self.data(2600), "--lambda", 5, "--threads", 2)
        self.assertTrue(filecmp.cmp(self.path("one.ease"), self.path("c.ease"), False))

    # ---- numerical failures ----------------------------------------------------------

    def gram_of(self, items, entries):
        rows = [f"i{i},i{i},{entries[0]}" for i in range(items)]
        rows += [f"i{i},i{j},{x}" for i, j, x in entries[1:]]
        self.write("made.csv", "\n".join(rows) + "\n")
        self.ease("gram", "import", "made.csv", "-o", "made.gram", "--users", 2000000, "--quiet")
        return self.path("made.gram")

    def test_what_float32_cannot_solve_is_solved_in_float64(self):
        twins = self.gram_of(700, [1000000, (640, 650, 1000000)])
        said = self.expect_same((2,), "--gram", twins, "--lambda", 0.01)
        self.assertIn("solving again in float64", said)

    def test_a_pivot_that_is_not_positive_names_its_item(self):
        impossible = self.gram_of(1200, [10, (640, 650, 10), (640, 1100, 10)])
        self.fails(5, 'not positive definite at item "i1100"', 3, "--gram", impossible,
                   "--lambda", 0.5)

    def test_a_lambda_that_leaves_no_weights_is_refused(self):
        self.fails(5, "every weight would be 0", 2, "--gram", self.gram(600), "--lambda", 1e300)

    # ---- bad input -------------------------------------------------------------------

    def test_bad_input_ends_with_the_codes_of_ease(self):
        gram = self.gram(600)
        self.write("text.gram", "no Gram file")
        self.fails(2, "--lambda L is required", 2, "--gram", gram)
        self.fails(2, "either DATA or --gram FILE is required", 2, "--lambda", 5)
        self.fails(2, "does not take 'none'", 2, "--gram", gram, "--lambda", 5, "--kind", "none")
        self.fails(2, "unknown option.*--lamda", 2, "--gram", gram, "--lamda", 5)
        self.fails(1, "none.gram: cannot open", 2, "--gram", "none.gram", "--lambda", 5)
        self.fails(3, "text.gram: not an ease", 2, "--gram", "text.gram", "--lambda", 5)
        self.fails(1, "cannot write to the directory", 2, "--gram", gram, "--lambda", 5,
                   "-o", "none/m")

    def test_a_damaged_gram_file_is_refused(self):
        with open(self.gram(1300), "rb") as f:
            content = bytearray(f.read())
        content[-70000] ^= 1
        damaged = self.write("damaged.gram", bytes(content))
        self.fails(3, "checksum", 3, "--gram", damaged, "--lambda", 5)

    def test_too_little_memory_is_refused_by_numbers(self):
        self.fails(4, "needs .* for each: the limit is 30", 2, "--gram", self.gram(1300),
                   "--lambda", 5, "--memory-limit", "30M")

    # ---- checkpoints -----------------------------------------------------------------

    def keeping(self, gram, *args):
        """Arguments of a run that keeps a checkpoint of every step in the directory w."""
        return ("--gram", gram, *self.keeping_all(*args))

    def keeping_all(self, *args):
        os.makedirs(self.path("w"), exist_ok=True)
        return ("--workdir", "w", "--checkpoint-minutes", 0, "--verbose", *args)

    def kill_behind(self, step, processes, *args):
        """Kills a process of a run as soon as it has this checkpoint."""
        p = subprocess.Popen(command(processes, "train", "-o", "c.ease", "--threads", 1, *args),
                             cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        self.addCleanup(p.kill)
        said = ""
        while f"checkpoint after step {step} " not in said:
            line = p.stdout.readline()
            self.assertTrue(line, said)
            said += line
        os.kill(children(p.pid)[-1], signal.SIGKILL)
        said += p.communicate(timeout=PATIENCE)[0]
        self.assertNotEqual(p.returncode, 0, said)
        self.assertFalse(os.path.exists(self.path("c.ease")))
        return said

    def goes_on(self, processes, least, *args):
        """A run that goes on from a checkpoint, and writes the file of one machine."""
        said = self.train(processes, *args)
        found = re.search(r"going on from the checkpoint in w: (\d+) of", said)
        self.assertTrue(found, said)
        self.assertGreaterEqual(int(found.group(1)), least)
        self.is_as_of_one_machine(args)
        return said

    def is_as_of_one_machine(self, args):
        known = [a for a in args if a not in ("--workdir", "w", "--checkpoint-minutes", 0,
                                              "--verbose")]
        self.ease("train", "-o", "one.ease", "--quiet", *known)
        self.assertTrue(filecmp.cmp(self.path("one.ease"), self.path("c.ease"), False), args)
        self.assertEqual(os.listdir(self.path("w")), [])

    def test_a_killed_run_goes_on_with_any_number_of_processes(self):
        args = self.keeping(self.gram(2600), "--lambda", 50, "--kind", "covariance")
        self.kill_behind(3, 3, *args)
        kept = shutil.copytree(self.path("w"), self.path("kept"))
        for processes in 1, 3, 4, 5:
            self.goes_on(processes, 3, *args)
            shutil.copytree(kept, self.path("w"), dirs_exist_ok=True)

    def test_a_run_from_data_goes_on_without_counting_again(self):
        data, other = (os.path.join(self.store, f"{items}.csv") for items in (2600, 1300))
        args = self.keeping_all("--lambda", 50)
        self.kill_behind(3, 3, data, *args)
        self.fails(3, "w: has a checkpoint of another training, with another X'X", 2, other, *args)
        said = self.goes_on(2, 3, data, *args)
        self.assertNotIn("counted in", said)

    def test_a_run_that_goes_on_keeps_checkpoints_and_goes_on_again(self):
        args = self.keeping(self.gram(2600), "--lambda", 50, "--precision", "f64")
        self.kill_behind(1, 4, *args)
        said = self.kill_behind(3, 2, *args)
        self.assertIn("going on from the checkpoint in w", said)
        self.goes_on(3, 3, *args)

    def test_a_damaged_checkpoint_is_not_used_and_the_one_before_it_is(self):
        args = self.keeping(self.gram(2600), "--lambda", 50)
        self.kill_behind(3, 3, *args)
        newest = max((name for name in os.listdir(self.path("w")) if "checkpoint" in name),
                     key=lambda name: os.stat(self.path(f"w/{name}")).st_mtime_ns)
        tiles = f"w/{newest.replace('checkpoint', 'tiles')}.1"
        content = bytearray(self.read(tiles))
        for damage, why in ((lambda: self.write(tiles, content[:-1]), "tile .* is missing"),
                            (lambda: os.remove(self.path(tiles)), "no such file"),
                            (lambda: self.write(f"w/{newest}", b"x" * 5000), "not an ease sweep")):
            kept = shutil.copytree(self.path("w"), self.path("kept"))
            damage()
            said = self.goes_on(2, 2, *args)
            self.assertRegex(said, f"(?m)^ease-cluster: warning: .*{why}")
            os.rmdir(self.path("w"))
            os.rename(kept, self.path("w"))
        content[-1] ^= 1
        self.write(tiles, content)
        said = self.goes_on(2, 2, *args)
        self.assertRegex(said, "wrong checksum of tile .*; the checkpoint before it is used")

    def test_without_a_checkpoint_that_is_whole_the_training_begins_anew(self):
        args = self.keeping(self.gram(2600), "--lambda", 50)
        self.kill_behind(3, 3, *args)
        for name in os.listdir(self.path("w")):
            if "tiles.0" in name:
                with open(self.path(f"w/{name}"), "r+b") as f:
                    f.write(bytes(1000))
        said = self.train(2, *args)
        self.assertIn("; the training begins anew", said)
        self.assertNotIn("going on", said)
        self.is_as_of_one_machine(args)

    def test_a_checkpoint_of_another_training_is_refused_and_stays(self):
        args = self.keeping(self.gram(2600), "--lambda", 50)
        self.kill_behind(2, 2, *args)
        before = {name: self.read(f"w/{name}") for name in os.listdir(self.path("w"))
                  if "lock" not in name}
        for words, other in (("--lambda 50", ("--lambda", 51)),
                             ("--kind counts", ("--lambda", 50, "--kind", "correlation")),
                             ("--precision f32", ("--lambda", 50, "--precision", "f64"))):
            self.fails(3, f"w: has a checkpoint of another training, with {words}", 2,
                       *self.keeping(self.gram(2600)), *other)
        self.fails(3, "w: has a checkpoint of another training, with another X'X, of 2600", 2,
                   *self.keeping(self.gram(1300)), "--lambda", 50)
        self.assertEqual({name: self.read(f"w/{name}") for name in os.listdir(self.path("w"))},
                         before)
        self.goes_on(2, 2, *args, "--storage", "f32")  # does not matter

    def test_float64_does_not_go_on_from_float32(self):
        twins = self.gram_of(2600, [1000000, (2500, 2510, 1000000)])
        args = self.keeping(twins, "--lambda", 0.01)
        said = self.train(2, *args)
        self.assertRegex(said, "(?s)checkpoint after step 1 .*solving again in float64\nplan: .*"
                               "checkpoint after step 1 ")
        self.is_as_of_one_machine(args)
        os.remove(self.path("c.ease"))
        self.kill_in_float64(args)
        said = self.goes_on(3, 2, *args)
        self.assertIn("in float64", said)
        self.assertNotIn("solving again", said)

    def kill_in_float64(self, args):
        p = subprocess.Popen(command(2, "train", "-o", "c.ease", "--threads", 1, *args),
                             cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        self.addCleanup(p.kill)
        while "solving again" not in p.stdout.readline():
            self.assertIsNone(p.poll())
        while "checkpoint after step 2 " not in p.stdout.readline():
            self.assertIsNone(p.poll())
        os.kill(children(p.pid)[0], signal.SIGKILL)
        p.communicate(timeout=PATIENCE)

    def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(self):
        args = self.keeping(self.gram(2600), "--lambda", 50)
        os.mkdir(self.path("w/ease-cluster.1.tiles.1"))
        said = self.train(2, *args)
        self.assertRegex(said, "warning: .*: cannot create: Is a directory; the training goes on")
        os.rmdir(self.path("w/ease-cluster.1.tiles.1"))
        self.is_as_of_one_machine(args)

    def test_a_directory_that_cannot_have_checkpoints_is_refused(self):
        args = "--gram", self.gram(600), "--lambda", 5
        self.fails(2, "--checkpoint-minutes goes with --workdir", 2, *args,
                   "--checkpoint-minutes", 3)
        self.fails(2, "does not take '-1'", 2, *args, "--workdir", ".",
                   "--checkpoint-minutes", -1)
        self.fails(1, "none: cannot write to the directory", 2, *args, "--workdir", "none")
        with open(self.write("ease-cluster.lock", ""), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.fails(1, "used by another ease-cluster; if none is running, remove", 2, *args,
                       "--workdir", ".")

    def test_processes_that_see_different_directories_are_refused(self):
        one = ["-np", "1", CLUSTER, "train", "--gram", self.gram(600), "--lambda", "5", "-o",
               self.path("c.ease"), "--workdir", "."]
        os.mkdir(self.path("a"))
        os.mkdir(self.path("b"))
        done = subprocess.run(["mpirun", "--oversubscribe", "--allow-run-as-root", "-wdir",
                               self.path("a"), *one, ":", "-wdir", self.path("b"), *one],
                              text=True, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "process 1 on .* sees another directory than process 0")

    @unittest.skipIf(os.geteuid(), "only root can make a small disk")
    def test_a_disk_that_is_too_small_is_refused_by_numbers(self):
        os.mkdir(self.path("w"))
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "none", self.path("w")],
                              check=False)
        if made.returncode:
            self.skipTest("no disk can be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.path("w")], check=True)
        args = self.keeping(self.gram(2600), "--lambda", 50)
        self.fails(1, r"w: needs 2 x 16\.9 MB of disk for checkpoints, 3.* MB are free", 2, *args)
        self.assertEqual(os.listdir(self.path("w")), [])

    # ---- ending early ----------------------------------------------------------------

    def ended_early(self, p):
        said, _ = p.communicate(timeout=PATIENCE)
        self.assertNotEqual(p.returncode, 0, said)
        self.assertEqual(self.read("c.ease"), b"old")
        self.assertEqual(os.listdir(self.dir), ["c.ease"])
        return said

    def test_a_killed_process_ends_all_and_keeps_the_old_model(self):
        self.write("c.ease", "old")
        for victim in 0, 2:
            p = self.start(2600, 3)
            while not re.match("plan: ", p.stdout.readline()):
                pass
            os.kill(children(p.pid)[victim], signal.SIGKILL)
            self.assertIn("signal 9", self.ended_early(p))

    def test_an_interrupt_ends_all_and_keeps_the_old_model(self):
        self.write("c.ease", "old")
        p = self.start(LONG, 2)
        while not re.match("plan: ", p.stdout.readline()):
            pass
        p.send_signal(signal.SIGINT)
        self.assertIn("ease-cluster: interrupted", self.ended_early(p))

    def test_a_process_that_is_interrupted_exits_with_130(self):
        p = subprocess.Popen([CLUSTER, "train", "-o", "c.ease", "--gram", self.gram(2600),
                              "--lambda", "5"], cwd=self.dir, stderr=subprocess.PIPE, text=True)
        while not re.match("plan: ", p.stderr.readline()):
            pass
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.communicate(timeout=PATIENCE)[1], "ease-cluster: interrupted\n")
        self.assertEqual(p.returncode, 130)
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_silent_process_ends_the_others_within_a_minute(self):
        self.write("c.ease", "old")
        p = self.start(2600, 3)
        while not re.match("plan: ", p.stdout.readline()):
            pass
        began = time.monotonic()
        os.kill(children(p.pid)[1], signal.SIGSTOP)
        said = self.ended_early(p)
        self.assertIn("has heard nothing of process", said)
        self.assertLess(time.monotonic() - began, 60)


def grid(processes):
    rows = max(r for r in range(1, processes + 1)
               if r * r <= processes and processes % r == 0)
    return rows, processes // rows


def tiles_sent(tiles, processes):
    """By the book: for every version of a tile that others read in the sweep, the number
    of other processes that own a tile which is written with it."""
    rows, columns = grid(processes)
    sent = 0

    def owner(i, j):
        return i % rows, j % columns

    def send(i, j, written):
        nonlocal sent
        sent += len({owner(*t) for t in written} - {owner(i, j)})

    for k in range(tiles):
        below, left = range(k + 1, tiles), range(k)
        send(k, k, [(i, k) for i in below] + [(k, j) for j in left])
        for i in below:
            send(i, k, [(i, j) for j in below if j <= i] + [(m, i) for m in below if m >= i])
            send(i, k, [(i, j) for j in left])
        for j in left:
            send(k, j, [(i, j) for i in below])
            send(k, j, [(i, j) for i in left if i >= j] + [(j, m) for m in left if m <= j])
    return sent


class Planning(Case):
    def plan(self, items, nodes, *more, code=0):
        return self.ease("plan", "--items", items, "--nodes", nodes, "--json", "--quiet", *more,
                         code=code)

    def test_the_bytes_sent_are_those_of_all_reads_of_the_sweep(self):
        for tiles, items in (1, 500), (2, 600), (3, 1300), (8, 4000):
            for nodes in 1, 2, 3, 4, 6, 8, 12, 16:
                for more, size in ((), 4), (("--precision", "f64"), 8):
                    found = json.loads(self.plan(items, nodes, *more).out)
                    edge = found["tile_edge"]
                    self.assertEqual(-(-items // edge), tiles)
                    self.assertEqual(found["network_bytes"],
                                     tiles_sent(tiles, nodes) * edge * edge * size)

    def test_more_machines_need_less_memory_each(self):
        few, many = (json.loads(self.plan(20000, nodes).out)["node_peak_bytes"]
                     for nodes in (2, 8))
        self.assertLess(many, few)
        self.assertGreater(many, 2 * 20000**2 / 8)

    def test_data_are_held_by_all_and_read_by_one(self):
        sizes = "--users", 1000000, "--interactions", 10**9
        alone, few, many = (json.loads(self.plan(20000, nodes, *more).out)["node_peak_bytes"]
                            for nodes, more in ((2, ()), (2, sizes), (64, sizes)))
        self.assertGreater(few, alone + 8 * 10**9 // 2)
        self.assertGreater(many, 12 * 10**9)
        self.assertLess(many, 13 * 10**9)

    def test_what_does_not_fit_is_refused_by_numbers(self):
        said = self.plan(1000000, 4, "--memory-limit", "10G", code=4).err
        self.assertRegex(said, "needs .* on each: .* are available: use more machines")

    def test_options_that_do_not_go_together_are_refused(self):
        self.fails(2, "--nodes does not go with --update", "plan", "--items", 100, "--nodes", 2,
                   "--update", 1)
        self.fails(2, "--network goes with --nodes", "plan", "--items", 100, "--network", "1G")


if __name__ == "__main__":
    main()
