"""The program from outside: its usage, its documents, what it puts out, how it ends."""

import csv
import gzip
import io
import json
import os
import pty
import random
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from small import ITEMS, Trained, as_csv, small_pairs
from support import EASE, PATIENCE, SANITIZED, Case, main, run, wait_until_caught

VERBS = ["train", "update", "forget", "recommend", "similar", "explain", "gram", "plan", "info",
         "synth", "export", "help"]


class Usage(Case):
    def test_nothing_at_all_gets_an_overview_and_exit_2(self):
        r = self.ease(code=2)
        self.assertEqual(r.out, "")
        for verb in VERBS:
            self.assertRegex(r.err, rf"(?m)^  {verb} ")

    def test_help_of_every_verb(self):
        self.assertIn("train", self.ease("--help").out)
        self.assertIn("train", self.ease("help").out)
        for verb in VERBS:
            a, b = self.ease("help", verb), self.ease(verb, "--help")
            self.assertEqual(a.out, b.out)
            self.assertEqual(a.err, "")
            self.assertRegex(a.out, rf"Usage: ease {verb} ")
            self.assertLessEqual(max(map(len, a.out.splitlines())), 88)
            self.assertEqual(self.ease(verb, "-h").out, a.out)

    def test_version(self):
        self.assertRegex(self.ease("--version").out, r"^ease \d+\.\d+\.\d+\n$")

    def test_slips_get_a_suggestion(self):
        self.fails(2, r"unknown verb 'trian'; did you mean train\?", "trian")
        self.fails(2, r"unknown option --lamda; did you mean --lambda\?", "train", "x",
                   "--lamda", "3")
        self.fails(2, r"unknown option --xyzzy$", "train", "--xyzzy")
        self.fails(2, r"unknown option -z", "train", "-z")
        self.fails(2, r"--quiet takes no value", "train", "--quiet=yes")
        self.fails(2, r"a verb comes first", "--lambda")
        self.fails(2, r"unknown verb 'nothing'", "help", "nothing")

    def test_one_of_two_is_wanted(self):
        for args, other in ((["train", "-o", "m", "--lambda", "1"], ["--gram", "g"]),
                            (["plan"], ["--items", "5"])):
            self.fails(2, "either DATA or .* is required", *args)
            self.fails(2, "either DATA or .*, not both", *args, "x.csv", *other)
        self.fails(2, "either --history or .* is required", "recommend", "m")
        self.fails(2, "either --history or .*, not both", "recommend", "m", "--history", "a",
                   "--users", "x.csv")

    def test_options_for_reading_need_data(self):
        self.write("x.csv", as_csv(small_pairs()))
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        self.ease("gram", "x.csv", "-o", "g")
        for verb, name in (("info", "m"), ("info", "g"), ("plan", "g")):
            self.fails(2, "options for reading do not apply", verb, name, "--weights")

    def test_bad_values_are_usage_errors(self):
        for args in (["--threads", "x"], ["--threads", "-1"], ["--threads", "9" * 30],
                     ["--kind", "count"], ["--storage", "f8"], ["--precision", ""],
                     ["--memory-limit", "2X"], ["--memory-limit", "-1G"],
                     ["--memory-limit", "nan"], ["--header", "maybe"], ["--min-rating", "x"],
                     ["--min-user", "1.5"], ["--repeat", "all"], ["--format", "x"],
                     ["--since", "soon"], ["--until", "31.01.2024"], ["--half-life", "0"],
                     ["--half-life", "nan"], ["--encoding", "x"], ["--gram", "g"]):
            with self.subTest(args=args):
                self.write("x.csv", as_csv(small_pairs()))
                r = self.fails(2, "ease: ", "train", "x.csv", "-o", "m", "--lambda", "1", *args)
                self.assertFalse(os.path.exists(self.path("m")), r)
        self.fails(2, "DATA or --gram", "train", "-o", "m", "--lambda", "1")
        self.fails(2, "--gram|Gram", "train", "--gram", "g", "-o", "m", "--lambda", "1",
                   "--min-user", "3")
        self.fails(2, "--output FILE is required", "train", "x.csv", "--lambda", "1")
        self.fails(2, "standard output", "train", "x.csv", "-o", "-", "--lambda", "1")

    def test_sizes(self):
        for text, bytes_ in (("500M", 500_000_000), ("2G", 2_000_000_000),
                             ("2GiB", 2 << 30), ("1.5kB", 1500), ("64KiB", 65536),
                             ("3000000", 3_000_000)):
            r = run("plan", "--items", "100", "--memory-limit", text, "--json")
            self.assertEqual(json.loads(r.out)["available_bytes"], bytes_, text)


class Documents(Case):
    """The man page and the completions come from the same tables as the help."""

    def options_of(self, verb):
        return re.findall(r"(?m)^  (?:-\w, |    )(--[a-z-]+)", self.ease("help", verb).out)

    def test_every_option_is_in_the_man_page(self):
        page = self.ease("generate", "man").out
        plain = page.replace("\\-", "-")
        for verb in VERBS:
            self.assertIn(f".SS ease {verb}\n", page)
            section = plain.split(f".SS ease {verb}\n")[1].split("\n.SS")[0]
            options = self.options_of(verb)
            self.assertIn("--help", options)
            for option in options:
                self.assertIn(option, section)

    def test_the_man_page_is_clean(self):
        self.write("ease.1", self.ease("generate", "man").out)
        if not shutil.which("mandoc"):
            self.skipTest("no mandoc")
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", self.path("ease.1")],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_every_option_is_in_the_completions(self):
        for shell in ("bash", "zsh", "fish"):
            text = self.ease("generate", shell).out
            for verb in VERBS:
                for option in self.options_of(verb):
                    wanted = f"-l {option[2:]}" if shell == "fish" else option
                    self.assertIn(wanted, text)

    def check_syntax(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"no {shell}")
        self.write("c", self.ease("generate", shell).out)
        done = subprocess.run([shell, "-n", self.path("c")], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_bash_accepts_its_completions(self):
        self.check_syntax("bash")

    def test_zsh_accepts_its_completions(self):
        self.check_syntax("zsh")

    def test_fish_accepts_its_completions(self):
        self.check_syntax("fish")

    def complete(self, *words):
        self.write("c", self.ease("generate", "bash").out)
        script = (f"source {self.path('c')}; COMP_WORDS=({' '.join(map(shlex.quote, words))});"
                  f" COMP_CWORD={len(words) - 1}; _ease; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                              cwd=self.dir, check=True)
        return done.stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("ease", "tr"), ["train"])
        self.assertEqual(self.complete("ease", "train", "--la"),
                         ["--lambda", "--lambda-users"])
        self.assertEqual(self.complete("ease", "train", "--kind", "cov"), ["covariance"])
        self.assertEqual(self.complete("ease", "help", "mo"), ["models"])
        self.assertEqual(self.complete("ease", "help", "re"), ["recommend", "reproduce"])
        self.write("ratings.csv", "")
        self.assertEqual(self.complete("ease", "train", "rat"), ["ratings.csv"])
        self.assertEqual(self.complete("ease", "gram", "me"), ["merge"])

    def test_formats_are_told_from_one_table(self):
        told = [line.split(": ", 1) for line in self.ease("help", "formats").out.splitlines()]
        names = [name for name, _ in told]
        self.assertEqual(names[-1], "table")
        self.fails(2, f"format 'x': not {', '.join(names[:-1])} or table$", "train",
                   self.write("a.csv", "u,i\n"), "-o", "m", "--lambda", "1", "--format", "x")
        text = " ".join(self.ease("train", "--help").out.split())
        self.assertIn(f"--format FORMAT {', '.join(names[:-1])} or table;", text)
        page = " ".join(self.ease("generate", "man").out.replace("\\-", "-").split())
        for name, about in told:
            self.assertIn(f"\\fB{name}\\fR {about}.", page)
        for shell in ("bash", "zsh", "fish"):
            self.assertIn(" ".join(names), self.ease("generate", shell).out)

    def test_generate_is_hidden_and_strict(self):
        self.assertNotIn("generate", self.ease("--help").out)
        self.fails(2, "man, bash, zsh or fish", "generate", "html")

    def test_the_examples_of_the_help_work(self):
        pairs = small_pairs()
        for name in ("ratings.csv", "monday.csv", "tuesday.csv"):
            self.write(name, as_csv([(u, i, 3 + len(i) % 3) for u, i in pairs],
                                    "user,item,rating"))
        self.write("movies.csv", "id,genre\n" + "".join(f"{i},A|B\n" for i in ITEMS))
        self.write("items.csv", "id,title\n" + "".join(f"{i},About {i}\n" for i in ITEMS))
        self.write("mine.txt", "react\nlodash\n")
        self.write("seen.txt", "redux\n")
        self.write("bought.csv", "user,item\nu1,lodash\n")
        self.write("requests.jsonl", '{"user": "u1"}\n{"history": ["react"], "k": 2}\n')
        self.write("events.jsonl", "".join(
            json.dumps({"user": {"id": u}, "item": {"sku": i}, "ts": 1.7e9 + k}) + "\n"
            for k, (u, i) in enumerate(pairs)))
        os.mkdir(self.path("events"))
        for part in range(2):
            self.write(f"events/part-{part}.csv.gz", gzip.compress(as_csv(
                [(u, i, "2024-02-01") for u, i in pairs[part::2]], "user,item,date").encode()))
        self.write("pairs.csv", "a,a,3\na,b,1\nb,b,2\n")
        self.write("ids.txt", "a\nb\n")
        self.write("came.csv", "user,item\nnew,react\nnew,svelte\n")
        self.write("gone.txt", "u8\nu9\n")
        before = [p for p in pairs if p[0] == "u1"]
        after = [("u1", "redux"), ("u1", "lodash")]
        self.write("before.csv", as_csv(before))
        self.write("after.csv", as_csv(after))
        self.write("all.csv", as_csv([p for p in pairs if p[0] != "u1"] + after))
        for verb in ("synth", "gram", "train", "info", "update", "forget", "recommend", "similar", "explain", "plan",
                     "export", "help"):
            text = self.ease("help", verb).out.split("\nExamples:\n")[1]
            examples = [s.strip() for s in text.splitlines() if s.strip()]
            self.assertTrue(examples)
            for line in examples:
                words = shlex.split(line)
                self.assertEqual(words[:2], ["ease", verb])
                given = b""
                if words[-2] == "<":
                    given = self.read(words[-1])
                    words = words[:-2]
                r = run(*words[1:], cwd=self.dir, input=given)
                allowed = (0, 4) if "--items 40981" in line else (0,)
                self.assertIn(r.code, allowed, f"{line}\n{r}")


class Output(Trained):
    """Where results go, and what happens when they cannot."""

    def test_an_output_directory_must_exist_before_the_work(self):
        for args in (["train", "ratings.csv", "--lambda", "1"], ["gram", "ratings.csv"],
                     ["export", "model.ease"],
                     ["synth", "--users", 5, "--items", 5, "--interactions", 9]):
            r = self.fails(1, "no/such/x.npy.*No such file or directory", *args, "-o",
                           "no/such/x.npy")
            self.assertNotIn("users", r.err)
        self.fails(1, "Is a directory", "train", "ratings.csv", "--lambda", "1", "-o", ".")

    def test_what_was_made_is_told_in_json_and_csv(self):
        for args in (["train", "ratings.csv", "-o", "m", "--lambda", "1"],
                     ["train", "ratings.csv", "-o", "m", "--model", "popularity"],
                     ["gram", "ratings.csv", "-o", "g"],
                     ["synth", "-o", "s", "--users", 5, "--items", 5, "--interactions", 9],
                     ["split", "ratings.csv", "-o", "d", "--protocol", "leave-last"]):
            made = json.loads(self.ease(*args, "--json").out)
            shutil.rmtree(self.path("d"), ignore_errors=True)
            flat = {}
            for key, value in made.items():
                if isinstance(value, dict):
                    flat.update({f"{key}_{k}": v for k, v in value.items()})
                else:
                    flat[key] = value
            rows = list(csv.reader(io.StringIO(self.ease(*args, "--csv").out)))
            self.assertEqual(rows[0], ["fact", "value"])
            self.assertEqual([row[0] for row in rows[1:]], list(flat))
            for key, value in rows[1:]:
                if key != "seconds" and not key.startswith("phases_"):
                    self.assertEqual(value.lower(), str(flat[key]).lower().removesuffix(".0"),
                                     key)
        self.fails(2, "--csv and -o - exclude", "synth", "-o", "-", "--users", 5, "--items", 5,
                   "--interactions", 9, "--csv")

    def test_a_full_disk_for_standard_output(self):
        for args in (["recommend", "model.ease", "--history", "react"],
                     ["recommend", "model.ease", "--users", "ratings.csv"],
                     ["similar", "model.ease", "react", "--json"],
                     ["explain", "model.ease", "--history", "react", "redux"],
                     ["info", "model.ease"], ["plan", "--items", "10"], ["help"],
                     ["export", "model.ease", "-o", "-"],
                     ["synth", "-o", "-", "--users", 5, "--items", 5, "--interactions", 9],
                     ["train", "ratings.csv", "-o", "m", "--lambda", "1", "--json"]):
            with open("/dev/full", "wb") as full, self.subTest(args=args):
                r = run(*args, cwd=self.dir, stdout=full)
                self.assertEqual(r.code, 1, r)
                self.assertRegex(r.err, "ease: .*No space left on device")

    def test_a_full_disk_for_a_file(self):
        self.fails(1, "No space left", "train", "ratings.csv", "-o", "/dev/full", "--lambda",
                   "1")
        self.fails(1, "No space left", "gram", "ratings.csv", "-o", "/dev/full")
        self.fails(1, "No space left", "export", "model.ease", "-o", "/dev/full")
        self.assertTrue(os.path.exists("/dev/full"))

    def test_a_disk_full_in_mid_write_leaves_the_old_file(self):
        self.ease("synth", "-o", "s.csv", "--users", 500, "--items", 400, "--interactions",
                  4000)
        before = self.read("model.ease")
        files = set(os.listdir(self.dir))
        # Not below 1,024: clang's OpenMP makes a file of that size before main begins.
        for limit in (5000, 100_000, 500_000):
            self.fails(1, "model.ease.*File too large", "train", "s.csv", "-o", "model.ease",
                       "--lambda", "1", "--storage", "f32",
                       before=lambda n=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)))
            self.assertEqual(self.read("model.ease"), before)
            self.assertEqual(set(os.listdir(self.dir)), files)

    def test_closed_standard_files_are_no_trap(self):
        for which in (0, 1, 2):
            done = subprocess.run(
                ["bash", "-c", f"exec {which}>&-; exec {EASE} train -q ratings.csv -o "
                 f"c{which} --lambda 2 --storage f32"], cwd=self.dir, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(self.read(f"c{which}"), self.read("model.ease"))
        done = subprocess.run(["bash", "-c", f"exec {EASE} info model.ease >&-"],
                              cwd=self.dir, capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)

    def test_a_reader_that_goes_away_is_no_complaint(self):
        done = subprocess.run(
            ["bash", "-c", f"{EASE} recommend -q model.ease --users ratings.csv --json | "
             "head -n 1; echo ${PIPESTATUS[0]}"], cwd=self.dir, capture_output=True,
            text=True, check=True)
        self.assertIn(done.stdout.splitlines()[-1], ("0", "141"))
        self.assertEqual(done.stderr, "")


class Ending(Case):
    """Signals and memory, in the middle of a longer training."""

    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.store, ignore_errors=True)
        cls.data = os.path.join(cls.store, "s.csv")
        r = run("synth", "-o", cls.data, "--users", 20000, "--items", 5000,
                "--interactions", 400000)
        assert r.code == 0, r

    def interrupt(self, number, wait, *args):
        with subprocess.Popen([EASE, *args], cwd=self.dir, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as p:
            first = p.stderr.readline()  # it has begun, and its handlers are there
            time.sleep(wait)
            p.send_signal(number)
            err = (first + p.stderr.read()).decode()
            return p.wait(), err

    def test_signals_leave_nothing_behind(self):
        self.write("m.ease", b"the old one")
        args = ["train", self.data, "-o", "m.ease", "--lambda", "100"]
        began = time.monotonic()
        self.ease(*args[:3], "full.ease", *args[4:])
        length = time.monotonic() - began
        os.remove(self.path("full.ease"))
        rng = random.Random()
        for i in range(10):
            number = (signal.SIGINT, signal.SIGTERM)[i % 2]
            code, err = self.interrupt(number, rng.random() * length, *args)
            self.assertEqual(os.listdir(self.dir), ["m.ease"], err)
            if code == 0:
                self.ease("info", "m.ease", "--verify")
                self.write("m.ease", b"the old one")
                continue
            self.assertEqual(code, 128 + number, err)
            self.assertEqual(self.read("m.ease"), b"the old one")
            word = "interrupted" if number == signal.SIGINT else "terminated"
            self.assertTrue(err.endswith(f"ease: {word}\n"), err)

    def test_signals_while_waiting_for_standard_input(self):
        with subprocess.Popen([EASE, "train", "-", "-o", "m", "--lambda", "1"], cwd=self.dir,
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            wait_until_caught(p, signal.SIGINT)
            time.sleep(0.5)  # until it reads, most likely; before that it must end as well
            p.send_signal(signal.SIGINT)
            try:
                self.assertEqual(p.wait(PATIENCE), 130)
            finally:
                p.kill()
        self.assertEqual(os.listdir(self.dir), [])

    def test_signals_while_nobody_reads_the_output(self):
        self.write("x.csv", as_csv((f"u{u}", f"i{(u * k) % 997}") for u in range(2000)
                                   for k in range(1, 6)))
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        for format in ([], ["--json"], ["--csv"]):
            for args in (["recommend", "m", "--users", "x.csv"],
                         ["recommend", "m", "--users", "x.csv", "-k", "900"],
                         ["recommend", "m"] + ["--history", "i1,i2", "-k", "990"] * 9):
                number = signal.SIGTERM if format else signal.SIGINT
                with subprocess.Popen([EASE, *args, *format], cwd=self.dir,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
                    p.stdout.read(1)
                    time.sleep(0.3)
                    p.send_signal(number)
                    try:
                        self.assertEqual(p.wait(PATIENCE), 128 + number, args)
                    finally:
                        p.kill()
                    self.assertRegex(p.stderr.read().decode(), r"ease: (interrup|termina)ted\n$")

    def test_an_ignored_signal_stays_ignored(self):
        self.write("x.csv", as_csv(small_pairs()))
        r = subprocess.run(["bash", "-c", f"trap '' INT; {EASE} train {self.data} -o m "
                            "--lambda 1 & sleep 0.5; kill -INT $!; wait $!"], cwd=self.dir,
                           capture_output=True, check=False)
        self.assertEqual(r.returncode, 0, r)

    @unittest.skipIf(SANITIZED, "sanitizers reserve more address space than that")
    def test_out_of_memory_is_exit_4(self):
        # From the bare start of the program, in steps, to just short of enough.
        need = 2 * 5000 * 5000
        for limit in range(200 << 20, 1200 << 20, 100 << 20):
            r = run("train", self.data, "-o", "m", "--lambda", "1", "--threads", "1",
                    cwd=self.dir, env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                    before=lambda n=limit: resource.setrlimit(resource.RLIMIT_AS, (n, n)))
            if r.code == 0:
                break
            self.assertEqual(r.code, 4, f"{limit >> 20} MiB for {need >> 20}: {r}")
            self.assertFalse(os.path.exists(self.path("m")))
        else:
            self.fail("1.2 GB were not enough")


class Progress(Case):
    """A bar on a terminal, and only there."""

    def on_terminal(self, *args, env=None, stdout=subprocess.DEVNULL):
        try:
            ours, theirs = pty.openpty()
        except OSError as why:
            self.skipTest(str(why))
        full = {**os.environ, "TERM": "xterm"}
        full.pop("NO_COLOR", None)
        full.update(env or {})
        seen = b""
        with subprocess.Popen([EASE, *args], cwd=self.dir, env=full, stdout=stdout,
                              stderr=theirs) as p:
            os.close(theirs)
            while True:
                ready, _, _ = select.select([ours], [], [], PATIENCE)
                try:
                    part = os.read(ours, 65536) if ready else b""
                except OSError:
                    part = b""
                if not part:
                    break
                seen += part
            code = p.wait()
        os.close(ours)
        self.assertEqual(code, 0, seen)
        return seen.decode()

    def setUp(self):
        super().setUp()
        self.write("x.csv", as_csv(small_pairs(3000)))
        self.args = ["train", "x.csv", "-o", "m", "--lambda", "1"]

    def test_a_terminal_gets_a_bar_that_is_cleared(self):
        seen = self.on_terminal(*self.args)
        self.assertRegex(seen, r"\r\033\[K\w[\w ]* \[\033\[32m#*\033\[m\.*\] +\d+ %")
        self.assertNotIn("%", seen.split("\033[K")[-1])
        lines = [line.split("\033[K")[-1].strip() for line in seen.split("\n")]
        self.assertTrue(any(line.startswith("trained in") for line in lines))

    def test_no_color_has_no_colour(self):
        seen = self.on_terminal(*self.args, env={"NO_COLOR": "1"})
        self.assertRegex(seen, r"\[#*\.*\] +\d+ %")
        self.assertNotRegex(seen, r"\033\[\d*m")

    def test_no_bar_when_nobody_wants_one(self):
        for args, env in ((["--no-progress"], {}), (["--quiet"], {}), ([], {"TERM": "dumb"}),
                          ([], {"TERM": ""})):
            seen = self.on_terminal(*self.args, *args, env=env)
            self.assertNotIn("\033", seen)
            self.assertNotIn("%", seen)

    def test_no_bar_when_not_a_terminal(self):
        r = self.ease(*self.args, env={"TERM": "xterm"})
        self.assertNotIn("\r", r.err)
        self.assertNotIn("\033", r.err)


if __name__ == "__main__":
    main()
