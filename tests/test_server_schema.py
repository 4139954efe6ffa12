"""schemathesis against GET /openapi.json: requests that the description allows are answered
as it says, all others are refused, and no answer differs from its schema."""

import os
import re
import shutil
import subprocess
import sys

import support
from serving import Server
from small import as_csv, small_pairs

PLACE = os.path.join(support.BUILD, "server-schema")

# 422 is for what is well-formed, but has no answer: a tag of a model without tags.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 404, 422]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 411, 413, 415, 422]
[generation]
allow-x00 = false
"""


def environment():
    shutil.rmtree(PLACE, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
    support.pip(os.path.join(PLACE, "bin", "python"), "install", "schemathesis>=4,<5")
    return os.path.join(PLACE, "bin", "schemathesis")


class Schema(support.Case):
    @classmethod
    def setUpClass(cls):
        cls.program = environment()
        cls.addClassCleanup(shutil.rmtree, PLACE, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.write("ratings.csv", as_csv(small_pairs()))
        self.write("tags.csv", "item,side\nreact,front\nexpress,back\n")
        self.write("settings.toml", SETTINGS)
        self.ease("train", "ratings.csv", "-o", "model.ease", "--lambda", "2",
                  "--tags", "tags.csv", "--tag-weight", "0")

    def check(self, *options):
        server = Server("model.ease", "--compare", "model.ease", *options, cwd=self.dir)
        done = subprocess.run(
            [self.program, "--config-file", "settings.toml", "run", "--checks", "all",
             "--max-examples", "60", "--suppress-health-check", "all", "--seed", "1", "--no-color",
             f"http://127.0.0.1:{server.port}/openapi.json"],
            cwd=self.dir, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(server.stop(), 0)
        shown = re.sub(r"(.{2000}).*", r"\1 ...", done.stdout)
        self.assertEqual(done.returncode, 0, shown[-8000:])
        self.assertRegex(done.stdout, r"Tested: +1[0-9]")

    def test_the_server_is_as_it_is_described(self):
        self.check("--users", "ratings.csv", "--journal", "journal")

    def test_and_without_users_and_feedback(self):
        self.check()


if __name__ == "__main__":
    support.main()
