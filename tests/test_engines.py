"""Gram matrices that real engines have counted are the native ones, bit for bit."""
import os

import engines
import support


class DuckDB(engines.Tests):
    engine = engines.DuckDB


class Postgres(engines.Tests):
    engine = engines.Postgres

    def test_equal_users_that_are_written_in_two_ways_are_in_one_shard(self):
        self.at.load(self.write_events([(text, item) for u in range(1, 40)
                                        for text, item in ((f"{u}.0", "a"), (f"{u}.00", "b"))]))
        out = self.path("out")
        os.mkdir(out)
        r = self.ease("gram", "sql", "--engine", "postgres", "--table",
                      "(SELECT CAST(who AS NUMERIC) AS who, what FROM events)", "--user", "who",
                      "--item", "what", "--dir", out, "--shards", 7)
        self.at.sql(r.out)
        pairs = "".join(self.read(shard).decode() for shard in engines.outputs(out)[1])
        both = [int(line.split(",")[2]) for line in pairs.split() if line.startswith("a,b,")]
        self.assertEqual(sum(both), 39)


if __name__ == "__main__":
    support.main()
