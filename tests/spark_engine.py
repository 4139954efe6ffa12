"""The same of Spark, for its size a test of its own: make test-engines."""
import engines
import support


class Spark(engines.Tests):
    engine = engines.Spark

    def test_spark_sql_takes_the_script_too(self):
        self.at.load(self.write_events([("u", "a"), ("u", 'b "1"'), ("v", 'b "1"'), ("w", "a")]))
        self.count(how=self.at.program)
        self.same_as("sorted.csv")


if __name__ == "__main__":
    support.main()
