"""The same of Spark, for its size a test of its own: make test-engines."""
import engines
import support


class Spark(engines.Tests):
    engine = engines.Spark


if __name__ == "__main__":
    support.main()
