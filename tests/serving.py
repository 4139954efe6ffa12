"""A server to test: started, asked, watched and ended."""

import atexit
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

from support import EASE, PATIENCE

JSON = {"Content-Type": "application/json"}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The code of an error, which must have the one shape of errors."""
        error = self.json["error"]
        assert set(self.json) == {"error"} and set(error) == {"code", "message"}, self
        assert len(error["message"]) > 10, self
        return error["code"]

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:2000]!r}"


class Server:
    """ease serve MODEL, on a free port or the Unix socket that the arguments name."""

    def __init__(self, *args, cwd=None, env=None, pass_fds=()):
        self.log = tempfile.TemporaryFile()
        self.unix = args[args.index("--unix") + 1] if "--unix" in args else None
        if self.unix and cwd:
            self.unix = os.path.join(cwd, self.unix)
        place = [] if "--listen" in args or self.unix else ["--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen([EASE, "serve", *map(str, args), *place], cwd=cwd,
                                        stdin=subprocess.DEVNULL, stderr=self.log,
                                        env=dict(os.environ, **(env or {})), pass_fds=pass_fds)
        atexit.register(self.process.kill)  # a test that fails leaves no server
        self.host, self.port = "127.0.0.1", 0
        self.wait_for_log(r'"serving .* at ')
        found = re.search(r" at http://(\S+):(\d+)/", self.read_log())
        if found:
            self.host, self.port = found[1].strip("[]").replace("0.0.0.0", "127.0.0.1"), int(found[2])

    def read_log(self):
        return os.pread(self.log.fileno(), 1 << 24, 0).decode("utf-8", "replace")

    def wait_for_log(self, pattern, count=1):
        end = time.monotonic() + PATIENCE
        while len(re.findall(pattern, self.read_log())) < count:
            assert self.process.poll() is None, f"the server ended:\n{self.read_log()}"
            assert time.monotonic() < end, f"no {pattern} in\n{self.read_log()}"
            time.sleep(0.01)

    # ---- asking ----------------------------------------------------------------------

    def connect(self):
        if self.unix:
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.unix)
        else:
            s = socket.create_connection((self.host, self.port))
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(PATIENCE)
        return s

    def client(self):
        """A connection that is kept alive, for ask()."""
        c = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        c.sock = self.connect()
        return c

    def ask(self, method, target, body=None, headers=None, client=None):
        """`body`: bytes, or what is sent as JSON."""
        c = client or self.client()
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        given = dict(JSON) if method == "POST" else {}
        given.update(headers or {})
        c.request(method, target, body=body, headers={k: v for k, v in given.items() if v})
        r = c.getresponse()
        answer = Answer(r.status, r.headers, r.read())
        if not client:
            c.close()
        return answer

    def get(self, target, **how):
        return self.ask("GET", target, **how)

    def post(self, target, body, **how):
        return self.ask("POST", target, body, **how)

    def raw(self, data, half_close=False):
        """Sends bytes, and returns all that comes until the server closes."""
        with self.connect() as s:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            return read_all(s)

    def metric(self, name):
        found = re.search(rf"(?m)^{re.escape(name)} (\S+)$", self.get("/metrics").body.decode())
        return float(found[1]) if found else None

    # ---- the process -----------------------------------------------------------------

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]) * 1024

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        """Ends the server; returns its exit code."""
        if self.process.poll() is None:
            self.send(number)
        return self.wait()

    def wait(self):
        """Its exit code, when it has ended. Sanitizers must have had nothing to say."""
        try:
            code = self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
        log = self.read_log()
        assert "Sanitizer" not in log and "runtime error" not in log, log
        return code


def read_all(s):
    parts = []
    try:
        while part := s.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def statuses(data):
    """The statuses of the answers in what a connection returned."""
    return [int(s) for s in re.findall(rb"HTTP/1\.[01] (\d{3}) ", data)]
