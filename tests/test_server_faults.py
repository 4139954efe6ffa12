"""Feedback to a server whose disk fails."""

import errno
import os

from serving import Server
from small import as_csv, small_pairs
from support import BUILD, Case, main


class Faults(Case):
    """Errors of the disk are made by tests/failing_disk.c."""

    def setUp(self):
        super().setUp()
        self.write("ratings.csv", as_csv(small_pairs()))
        self.ease("train", "ratings.csv", "-o", "model.ease", "--lambda", "2", "-q")
        self.server = self.serve(LD_PRELOAD=os.path.join(BUILD, "tests", "libfailing_disk.so"),
                                 EASE_FAULTS=self.path("faults"))
        self.fed = 0

    def serve(self, **env):
        server = Server("model.ease", "--users", "ratings.csv", "--journal", "journal",
                        cwd=self.dir, env=env)
        self.addCleanup(server.process.kill)
        return server

    def faults(self, **calls):
        """The calls that fail from now on, with their errors."""
        self.write("next", "".join(f"{call} {number}\n" for call, number in calls.items()))
        os.replace(self.path("next"), self.path("faults"))

    def feed(self):
        return self.server.post("/v1/feedback", {"events": [
            {"user": f"new{self.fed}", "item": "react"}]})

    def accepted(self):
        answer = self.feed()
        self.assertEqual((answer.status, answer.json), (
            200, {"accepted": 1, "duplicates": 0, "sequence": self.fed + 1}))
        self.fed += 1

    def refused(self, status, code):
        answer = self.feed()
        self.assertEqual((answer.status, answer.code), (status, code), answer)
        return answer

    def failed_until_a_restart(self):
        for _ in range(3):
            answer = self.refused(503, "journal_failed")
            self.assertEqual(answer.headers["Retry-After"], "1")
            self.assertIn("restart", answer.json["error"]["message"])
        self.faults()
        self.refused(503, "journal_failed")
        self.assertEqual(self.server.metric("ease_journal_failed"), 1)
        self.assertEqual(self.server.read_log().count("nothing more is written"), 1)
        self.assertEqual(self.server.post("/v1/recommend", {"user": "u1"}).status, 200)
        self.assertEqual(self.server.post("/v1/recommend", {"user": f"new{self.fed}"}).code,
                         "unknown_user")
        self.assertEqual(self.server.stop(), 0)
        self.server = self.serve()
        self.accepted()
        self.assertEqual(self.server.stop(), 0)

    def test_a_failed_sync_is_the_end_of_feedback(self):
        self.accepted()
        self.faults(fdatasync=errno.EIO)
        self.failed_until_a_restart()

    def test_a_disk_that_is_found_full_by_a_sync_is_the_end_of_feedback(self):
        self.accepted()
        self.faults(fdatasync=errno.ENOSPC)
        self.failed_until_a_restart()

    def test_a_full_disk_whose_traces_stay_is_the_end_of_feedback(self):
        self.accepted()
        self.faults(write=errno.EDQUOT, ftruncate=errno.EIO)
        self.failed_until_a_restart()

    def test_feedback_goes_on_when_a_full_disk_has_space_again(self):
        self.accepted()
        for number in (errno.ENOSPC, errno.EDQUOT):
            self.faults(write=number)
            for _ in range(2):
                self.refused(507, "disk_full")
            self.assertEqual(self.server.metric("ease_journal_failed"), 0)
            self.faults()
            self.accepted()
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    main()
