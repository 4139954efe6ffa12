"""The program ease-cluster on four hosts, with hosts that are lost.

The hosts are network namespaces with names and directories for temporary files of their
own; a switch joins them. They share memory, processors and disk, but their processes see
each other through TCP alone, and a link can be cut. Only root can make them.

EASE_CLUSTER_FAULTS in the environment: how many hosts are lost (3; make
test-cluster-hosts: 10). EASE_SEED: the seed of an earlier run."""

import filecmp
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
FAULTS = int(os.environ.get("EASE_CLUSTER_FAULTS") or 3)
SEED = int(os.environ.get("EASE_SEED") or random.randrange(1 << 30))
HOSTS = 1, 2, 3, 4
NETWORK = "10.77.0"
ITEMS = 6000
STEPS = 10  # of the sweep, with ITEMS items
# Seconds from the loss of a host until nothing runs any more: the 25 of the keepalive
# messages of mpirun, or the 45 of silence, and some for a busy machine.
ENDED = 75

# In place of ssh: AGENT [OPTION ...] ADDRESS COMMAND ...; and the first argument for the
# host of mpirun itself.
AGENT = """#!/bin/sh
host={network}.${{1##*.}}; name={prefix}${{1##*.}}; shift
mkdir -p {store}/$name
exec ip netns exec $name env TMPDIR={store}/$name \\
    unshare --uts sh -c 'hostname "$1"; shift; eval "exec $*"' sh $name "$@"
"""


def ip(*args, check=True):
    return subprocess.run(["ip", *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=check)


class Network:
    """Hosts 1 to 4, and a switch with a port for each of them."""

    def __init__(self):
        self.prefix = f"ease{os.getpid()}-"
        self.switch = self.prefix + "switch"
        self.made = []

    def name(self, host):
        return f"{self.prefix}{host}"

    def add(self, name):
        ip("netns", "add", name)
        self.made.append(name)

    def make(self):
        self.add(self.switch)
        ip("-n", self.switch, "link", "add", "name", "hub", "type", "bridge")
        ip("-n", self.switch, "link", "set", "dev", "hub", "up")
        for host in HOSTS:
            name, port = self.name(host), f"port{host}"
            self.add(name)
            ip("-n", self.switch, "link", "add", "name", port, "type", "veth",
               "peer", "name", "net0", "netns", name)
            ip("-n", name, "addr", "add", f"{NETWORK}.{host}/24", "dev", "net0")
            ip("-n", name, "link", "set", "dev", "lo", "up")
            ip("-n", name, "link", "set", "dev", "net0", "up")
            ip("-n", self.switch, "link", "set", "dev", port, "master", "hub", "up")

    def link(self, host, state):
        ip("-n", self.switch, "link", "set", "dev", f"port{host}", state)

    def pids(self, host):
        return [int(p) for p in ip("netns", "pids", self.name(host), check=False).stdout.split()]

    def kill(self, host):
        for pid in self.pids(host):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def running(self):
        """The names of all programs that run on the hosts."""
        names = []
        for pid in (pid for host in HOSTS for pid in self.pids(host)):
            try:
                with open(f"/proc/{pid}/comm") as f:
                    names.append(f.read().strip())
            except FileNotFoundError:
                pass
        return names

    def mend(self):
        """All links are up, and nothing runs."""
        for host in HOSTS:
            self.kill(host)
            self.link(host, "up")

    def remove(self):
        for host in HOSTS:
            self.kill(host)
        for name in self.made:
            ip("netns", "del", name, check=False)


def reason_to_skip():
    if not os.path.exists(CLUSTER) or not shutil.which("mpirun"):
        return "no ease-cluster: make cluster builds it"
    if os.geteuid():
        return "only root can make hosts"
    if not shutil.which("ip"):
        return "no program ip: the package iproute2 has it"
    return None


@unittest.skipIf(reason_to_skip(), reason_to_skip())
class Hosts(Case):
    @classmethod
    def setUpClass(cls):
        cls.net = Network()
        cls.addClassCleanup(cls.net.remove)  # also what was made before it failed
        try:
            cls.net.make()
        except subprocess.CalledProcessError as e:
            raise unittest.SkipTest(f"no hosts can be made here: {e.stderr.strip()}")
        cls.store = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.store, ignore_errors=True)
        cls.agent = os.path.join(cls.store, "agent")
        with open(cls.agent, "w") as f:
            f.write(AGENT.format(network=NETWORK, prefix=cls.net.prefix, store=cls.store))
        os.chmod(cls.agent, 0o755)
        cls.gram, cls.one = (os.path.join(cls.store, n) for n in ("x.gram", "one.ease"))
        data = os.path.join(cls.store, "x.csv")
        run("synth", "-o", data, "--users", 3000, "--items", ITEMS, "--interactions", 80000,
            "--seed", 3, "--quiet")
        run("gram", data, "-o", cls.gram, "--quiet")
        run("train", "--gram", cls.gram, "--lambda", 50, "-o", cls.one, "--quiet")

    def start(self, hosts):
        """mpirun on the first host; the options are those of docs/cluster.md."""
        addresses = ",".join(f"{NETWORK}.{host}" for host in hosts)
        p = subprocess.Popen(
            [self.agent, f"{NETWORK}.{hosts[0]}", "mpirun", "--allow-run-as-root",
             "--host", addresses, "--map-by", "ppr:1:node", "--bind-to", "none",
             "--mca", "plm_rsh_agent", self.agent, "--mca", "btl", "tcp,self",
             "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24",
             "--mca", "oob_tcp_if_include", f"{NETWORK}.0/24",
             "--mca", "oob_tcp_keepalive_time", "10", "--mca", "oob_tcp_keepalive_intvl", "5",
             "--mca", "oob_tcp_keepalive_probes", "3",
             CLUSTER, "train", "--gram", self.gram, "--lambda", "50", "-o", self.path("c.ease"),
             "--threads", "1", "--workdir", self.path("w"), "--checkpoint-minutes", "0",
             "--verbose"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(p.wait)
        self.addCleanup(self.net.mend)
        return p

    def wait_for(self, p, pattern):
        said = ""
        while not re.search(pattern, said):
            line = p.stdout.readline()
            self.assertTrue(line, said)
            said += line
        return said

    def finishes(self, hosts):
        """A run without faults, which writes the file of one machine."""
        p = self.start(hosts)
        said, _ = p.communicate(timeout=PATIENCE)
        self.assertEqual(p.returncode, 0, said)
        self.assertTrue(filecmp.cmp(self.one, self.path("c.ease"), False), said)
        self.assertEqual(os.listdir(self.path("w")), [])
        self.assertEqual(self.net.running(), [])
        return said

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("w"))

    def test_four_hosts_write_the_file_of_one_machine(self):
        said = self.finishes(HOSTS)
        self.assertIn("on 4 processes (2 x 2)", said)

    def all_ended(self, p, said):
        """Everything ends by itself, and says that it has failed."""
        began = time.monotonic()
        try:
            said += p.communicate(timeout=ENDED)[0]
        except subprocess.TimeoutExpired:
            self.fail(f"mpirun runs {ENDED} s after a host was lost: {said}")
        while left := self.net.running():
            self.assertLess(time.monotonic() - began, ENDED, f"{left} run on: {said}")
            time.sleep(0.2)
        self.assertNotEqual(p.returncode, 0, said)
        self.assertEqual(self.read("c.ease"), b"old", said)
        self.assertEqual(sorted(os.listdir(self.dir)), ["c.ease", "w"])
        return said, time.monotonic() - began

    def lose(self, kind, host, step, part):
        """A run that loses a host after a step and a part of the next one; another run with
        the other hosts goes on, at least from there."""
        self.net.mend()
        self.write("c.ease", "old")
        p = self.start(HOSTS)
        said = self.wait_for(p, "plan: ")
        began = time.monotonic()
        if step:
            said += self.wait_for(p, f"checkpoint after step {step} ")
        time.sleep(part * ((time.monotonic() - began) / step if step else 0.3))
        if kind == "kill":
            self.net.kill(host)
        else:
            self.net.link(host, "down")
        said, ended = self.all_ended(p, said)
        self.net.link(host, "up")
        said += self.finishes([other for other in HOSTS if other != host])
        found = re.search(r"going on from the checkpoint in \S+: (\d+) of", said)
        self.assertGreaterEqual(int(found.group(1)) if found else 0, step, said)
        return ended, int(found.group(1)) if found else 0

    def test_a_run_that_loses_a_host_ends_and_another_goes_on(self):
        rng = random.Random(SEED)
        for number in range(FAULTS):
            kind = ("kill", "cut", "kill")[number % 3]
            # Not so late that the run may be at its end.
            host, step, part = rng.choice(HOSTS), rng.randrange(STEPS - 2), rng.random()
            with self.subTest(seed=SEED, kind=kind, host=host, step=step, part=part):
                ended, went_on = self.lose(kind, host, step, part)
                print(f"  seed {SEED}: {kind} host {host} after step {step} and {part:.2f} of the "
                      f"next: ended after {ended:.1f} s, went on from step {went_on}", flush=True)


if __name__ == "__main__":
    main()
