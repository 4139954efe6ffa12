"""How the server ends: under load, while load balancers look, and with its socket."""

import random
import signal
import socket
import subprocess
import threading
import time

from serving import Server, read_all, statuses
from small import as_csv, small_pairs
from support import EASE, PATIENCE, SANITIZED, Case, main

BODY = b'{"history": ["react"], "item": "redux"}'
WAITS = (b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)  # is answered by the second pool
EVENT = b'{"events": [{"user": "u1", "item": "react"}]}'
FEEDBACK = (b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(EVENT) + EVENT)


class Ending(Case):
    def setUp(self):
        super().setUp()
        self.write("ratings.csv", as_csv(small_pairs()))
        self.ease("train", "ratings.csv", "-o", "model.ease", "--lambda", "2", "-q")

    def serve(self, *args, **how):
        server = Server("model.ease", "--grace", "600", *args, cwd=self.dir, **how)
        self.addCleanup(server.process.kill)
        return server

    def test_it_ends_under_load_without_touching_what_is_freed(self):
        """Connections that are closed as idle may have requests that nobody has read."""
        rng = random.Random(7)

        def load(server, stop):
            try:
                while not stop.is_set():
                    with server.connect() as s:
                        for _ in range(8):
                            s.sendall(rng.choice((WAITS, FEEDBACK)) * rng.randrange(1, 4))
                            time.sleep(0.0005)
            except OSError:
                pass  # refused or closed

        for _ in range(5 if SANITIZED else 20):
            server, stop = self.serve("--threads", 1, "--journal", "journal"), threading.Event()
            clients = [threading.Thread(target=load, args=(server, stop)) for _ in range(16)]
            for c in clients:
                c.start()
            time.sleep(0.1 + rng.random() / 5)
            self.assertEqual(server.stop(), 0, server.read_log())
            stop.set()
            for c in clients:
                c.join()

    def test_connections_are_refused_at_once_while_a_request_is_under_way(self):
        for place in ((), ("--unix", self.path("sock"))):
            server = self.serve(*place)
            with server.connect() as s:
                s.sendall(WAITS[:-5])
                time.sleep(0.3)
                server.send(signal.SIGTERM)
                server.wait_for_log("answering what is under way")
                time.sleep(0.1)
                with self.assertRaises((ConnectionRefusedError, FileNotFoundError)):
                    server.connect()
                s.sendall(WAITS[-5:])
                self.assertEqual(statuses(read_all(s)), [200])
            self.assertEqual(server.wait(), 0)

    def test_load_balancers_get_time_to_turn_away(self):
        server = self.serve("--shutdown-delay", 3)
        kept = server.client()
        self.assertEqual(server.get("/readyz", client=kept).status, 200)
        began = time.monotonic()
        server.send(signal.SIGTERM)
        server.wait_for_log("not ready any more")
        self.assertEqual(server.get("/readyz", client=kept).code, "busy")
        answer = server.get("/readyz")  # a new connection
        self.assertEqual((answer.status, answer.headers["Connection"]), (503, "close"))
        answer = server.post("/v1/recommend", {"history": ["react"]})
        self.assertEqual((answer.status, answer.headers["Connection"]), (200, "close"))
        self.assertEqual(server.get("/healthz").status, 200)
        self.assertEqual(server.wait(), 0)
        self.assertGreaterEqual(time.monotonic() - began, 3)

    def test_a_passed_socket_outlives_the_server(self):
        script = ("import os, sys\nos.dup2(int(sys.argv[1]), 3)\n"
                  "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
                  "os.execv(sys.argv[2], sys.argv[2:])\n")
        with socket.create_server(("127.0.0.1", 0)) as listening:
            for _ in range(2):
                with subprocess.Popen(["/usr/bin/python3", "-c", script, str(listening.fileno()),
                                       EASE, "serve", "model.ease"], cwd=self.dir,
                                      stderr=subprocess.DEVNULL,
                                      pass_fds=(listening.fileno(),)) as p:
                    with socket.create_connection(listening.getsockname()) as s:
                        s.settimeout(PATIENCE)
                        s.sendall(WAITS + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                                          b"Connection: close\r\n\r\n")
                        self.assertEqual(statuses(read_all(s)), [200, 200])
                    p.terminate()
                    self.assertEqual(p.wait(PATIENCE), 0)


if __name__ == "__main__":
    main()
