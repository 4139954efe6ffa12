"""The server as its unit of systemd and docs/server.md start it."""

import os
import re
import shutil
import subprocess

from serving import Server
from small import as_csv, small_pairs
from support import BUILD, ROOT, Case, main

TOKEN = "0123456789abcdef0123456789abcdef"
CREDENTIALS = "/run/credentials/ease-serve.service/"


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def settings(unit):
    """The assignments of a unit: a list of values for each name."""
    found = {}
    for name, value in re.findall(r"(?m)^(\w+)=(.*)$", unit):
        found.setdefault(name, []).append(value)
    return found


class Unit(Case):
    def setUp(self):
        super().setUp()
        self.unit = text_of("server/ease-serve.service.in")
        self.settings = settings(self.unit)

    def options(self):
        """EASE_OPTIONS as docs/server.md and the head of the unit write them."""
        found = [re.findall(r"EASE_OPTIONS=(--[^`\n]*)", text)
                 for text in (text_of("docs/server.md"), self.unit)]
        self.assertEqual([len(f) for f in found], [1, 1])
        return [f[0].split() for f in found]

    def test_systemd_understands_the_unit(self):
        analyze = shutil.which("systemd-analyze")
        if not analyze:
            self.skipTest("there is no systemd-analyze")
        self.write("ease-serve.service", self.unit.replace("@CMAKE_INSTALL_FULL_BINDIR@", BUILD))
        self.write("ease-serve.socket", text_of("server/ease-serve.socket"))
        r = subprocess.run([analyze, "verify", "--man=no", self.path("ease-serve.service"),
                            self.path("ease-serve.socket")], text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((r.returncode, r.stdout), (0, ""))

    def test_the_documented_tokens_are_a_credential(self):
        name, source = self.settings["LoadCredential"][0].split(":")
        self.assertEqual(source, "/etc/ease/tokens")
        for options in self.options():
            self.assertEqual(options[options.index("--token-file") + 1], CREDENTIALS + name)

    def test_the_service_starts_with_the_documented_options(self):
        self.write("ratings.csv", as_csv(small_pairs()))
        self.ease("train", "ratings.csv", "-o", "model.ease", "--lambda", "2", "-q")
        os.chmod(self.write("tokens", TOKEN + "\n"), 0o440)  # as systemd shows them, with an ACL
        for options in self.options():
            options = [self.path(os.path.basename(o)) if o.startswith("/") else o for o in options]
            options[options.index("--listen") + 1] = "0.0.0.0:0"
            s = Server("model.ease", *options, cwd=self.dir)
            self.assertEqual(s.get("/v1/model").status, 401)
            self.assertEqual(s.get("/v1/model", headers={"Authorization": f"Bearer {TOKEN}"}).status,
                             200)
            self.assertEqual(s.stop(), 0)

    def test_without_tokens_the_option_is_refused_and_nothing_is_served(self):
        name, content = self.settings["SetCredential"][0].split(":", 1)
        self.assertEqual(self.settings["LoadCredential"][0].split(":")[0], name)
        os.chmod(self.write("tokens", content), 0o400)
        self.fails(1, "tokens: contains no token", "serve", "model.ease", "--listen", "0.0.0.0:0",
                   "--token-file", "tokens")

    def test_the_service_sees_how_much_memory_there_is(self):
        self.assertNotIn("ProcSubset", self.settings)  # "pid" hides /proc/meminfo

    def test_the_container_gets_tokens_of_its_user(self):
        self.assertIn("\nUSER nobody\n", text_of("examples/Containerfile"))
        run = re.search(r"`podman run ([^`]*)`", text_of("docs/server.md"))[1]
        secret = re.search(r"--secret (\S+),uid=65534,mode=0400 ", run)[1]
        self.assertIn(f"--token-file /run/secrets/{secret}", run)


if __name__ == "__main__":
    main()
