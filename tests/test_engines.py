"""Gram matrices that real engines have counted are the native ones, bit for bit."""
import unittest

import engines
import support


@unittest.skipIf(support.SANITIZED, "the release build reads what engines write")
class DuckDB(engines.Tests):
    engine = engines.DuckDB


@unittest.skipIf(support.SANITIZED, "the release build reads what engines write")
class Postgres(engines.Tests):
    engine = engines.Postgres


if __name__ == "__main__":
    support.main()
