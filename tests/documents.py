#!/usr/bin/python3
"""Documents whose commands are run.

The fenced blocks of a page of Markdown, in order, in one directory:

    ```console             commands behind "$ ", each followed by what it prints; a line
                           "..." stands for any lines
    ```console background  a command that runs until the end of the page, such as a server:
                           it is ready when it listens on the port that it
                           names, or 8080
    ```LANGUAGE FILE       the content of a file, which is written

All other blocks are shown only. Commands are run by bash, and must succeed.

    tests/documents.py PAGE...     runs a page and writes into it what its commands print
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import support

FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.M | re.S)
PORTS = ("8080", "8000")  # each stands for a free one
START = 120  # seconds until a server that does not listen has failed


def read(page):
    with open(os.path.join(support.ROOT, page)) as f:
        return f.read()


def masked(text):
    """Times and the memory of the day differ from run to run, last digits from one kind
    of processor to another, and the memory that a plan counts for threads with their
    number."""
    text = re.sub(r"plan: \d[\d.]* MB of memory", "plan: ? of memory", text)
    text = re.sub(r"\d[\d.,]* GB available", "? available", text)
    text = re.sub(r"(about|in) \d[\d.]* (s|min)( \d+ s)?", r"\1 ?", text)
    text = re.sub(r"(standard error \S+), \d\S* s$", r"\1, ? s", text, flags=re.M)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?", "?", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "?", text)
    text = re.sub(r"(?: +\d+\.\d+){1,2} +[\d.]+ [kMG]?B$", " ? s ? B", text, flags=re.M)
    text = re.sub(r"\b\d(\.\d+)?e-\d+\b", "?", text)
    text = re.sub(r" +", " ", text)
    text = re.sub(r"(\d\.\d{4,} \d\.\d{4,}) \d+\.\d\d\b", r"\1 ? s", text)  # of trials
    text = re.sub(r" +$", "", text, flags=re.M)
    text = re.sub(r"took( +)\d\S* s$", r"took\1? s", text, flags=re.M)
    return re.sub(r"residual( *)\d\S*", r"residual\1?", text).rstrip()


NUMBER = r"-?\d+\.\d{4,}(?:e-\d+)?"
# Kernels of different processors order ties otherwise, which metrics of few users show.
CLOSE, CLOSE_SHARE = 5e-4, 0.01


def pattern(line):
    """Of a line, in which numbers with many digits are groups."""
    if line.strip() == "...":
        return "(?:.*\n)*"
    return f"({NUMBER})".join(re.escape(part) for part in re.split(NUMBER, line)) + "\n"


def same(shown, printed):
    """Whether a command printed what the page shows."""
    shown = masked(shown)
    found = re.fullmatch("".join(pattern(line) for line in shown.split("\n")),
                         masked(printed) + "\n")
    return found is not None and all(
        abs(float(a) - float(b)) <= max(CLOSE, CLOSE_SHARE * abs(float(a)))
        for a, b in zip(re.findall(NUMBER, shown), found.groups()))


def parts(body):
    """(command, shown) of a console block."""
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        lines = part.split("\n")
        n = 1
        while lines[n - 1].endswith("\\"):
            n += 1
        yield "\n".join(lines[:n]), "\n".join(lines[n:])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


class Session:
    """A page that is being run in a directory of its own, with the examples of the
    repository in it."""

    def __init__(self, path="", env=None):
        self.dir = tempfile.mkdtemp(prefix="ease-document-")
        for name in ("npm.tsv.gz",):
            shutil.copy(os.path.join(support.ROOT, "examples", name), self.dir)
        self.env = dict(os.environ, PATH=":".join(
            [*([path] if path else []), support.BUILD, os.environ["PATH"]]),
            PYTHONDONTWRITEBYTECODE="1", NO_COLOR="1", OMP_WAIT_POLICY="passive",
            **(env or {}))
        self.ports = {port: free_port() for port in PORTS}
        self.running = []

    def here(self, text):
        for port, free in self.ports.items():
            text = text.replace(f":{port}", f":{free}").replace(f"--port {port}", f"--port {free}")
        return text

    def shown(self, text):
        for port, free in self.ports.items():
            text = re.sub(rf":{free}\b", f":{port}", text)
        return text.replace(self.dir, "/home/ann")

    def run(self, command):
        done = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", self.here(command)],
                              cwd=self.dir, env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=support.PATIENCE, check=False)
        printed = self.shown(done.stdout)
        if done.returncode:
            raise AssertionError(f"$ {command}\nexit {done.returncode}\n{printed}")
        return printed

    def start(self, command):
        if command.startswith("ease serve ") and "--listen" not in command:
            command += " --listen 127.0.0.1:8080"
        port = next(p for p in reversed(PORTS) if p in command)
        log = tempfile.TemporaryFile(mode="w+")
        process = subprocess.Popen(["/bin/bash", "-c", "exec " + self.here(command)], cwd=self.dir,
                                   env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT)
        self.running.append((process, log))
        end = time.monotonic() + START
        while True:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", int(self.ports[port]))) == 0:
                    return
            if process.poll() is not None or time.monotonic() > end:
                log.seek(0)
                raise AssertionError(f"$ {command}\ndoes not listen:\n{log.read()}")
            time.sleep(0.02)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(self.here(text))

    def close(self):
        for process, log in self.running:
            process.send_signal(signal.SIGTERM)
            process.wait(support.PATIENCE)
            log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def run(page, session):
    """Runs a page; yields (command, what the page shows, what was printed)."""
    for language, words, body in FENCE.findall(read(page)):
        if language == "console" and words == "background":
            for command, _ in parts(body):
                session.start(command)
                yield command, "", ""
        elif language == "console":
            for command, shown in parts(body):
                yield command, shown, session.run(command)
        elif words:
            session.write(words, body)


def renewed(page, session):
    """The text of the page, with what its commands print now. Shown lines stay as they
    are where only times and last digits differ."""
    text = read(page)
    at = 0
    for command, shown, printed in run(page, session):
        place = text.index(f"$ {command}\n", at) + len(f"$ {command}\n")
        if not same(shown, printed):
            text = text[:place] + printed.rstrip("\n") + ("\n" if printed.strip() else "") + \
                text[place + len(shown):]
            shown = printed.rstrip("\n") + "\n" if printed.strip() else ""
        at = place + len(shown)
    return text


def main():
    for page in sys.argv[1:]:
        session = Session(os.environ.get("EASE_DOCUMENT_PATH", ""))
        try:
            text = renewed(page, session)
        finally:
            session.close()
        with open(os.path.join(support.ROOT, page), "w") as f:
            f.write(text)


if __name__ == "__main__":
    main()
