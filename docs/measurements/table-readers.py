"""Counts and sums the regions of one trace by readers that the tests do not run, and compares what they say.

    pip install polars datafusion pyspark        # Spark needs a Java runtime
    python3 docs/measurements/table-readers.py TRACE.parquet TRACE.arrow
"""

import sys

import datafusion
import polars
import pyspark
from pyspark.sql import SparkSession

QUERY = (
    "SELECT name, count(*) AS regions, sum(end_ns - start_ns) AS total_ns FROM {table} "
    "WHERE kind = 'region' GROUP BY name ORDER BY name"
)


def by_polars(frame):
    frame = frame.with_columns(polars.col("kind", "name").cast(polars.String))
    rows = polars.SQLContext(trace=frame).execute(QUERY.format(table="trace")).collect()
    return rows.rows()


def by_datafusion(path):
    context = datafusion.SessionContext()
    context.register_parquet("trace", path)
    table = context.sql(QUERY.format(table="trace")).to_pydict()
    return list(zip(table["name"], table["regions"], table["total_ns"]))


def by_spark(path):
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.read.parquet(path).createOrReplaceTempView("trace")
    rows = [tuple(row) for row in session.sql(QUERY.format(table="trace")).collect()]
    session.stop()
    return rows


def main():
    parquet, arrow = sys.argv[1:]
    expected = None
    readers = [
        (f"Polars {polars.__version__}, Parquet", lambda: by_polars(polars.scan_parquet(parquet))),
        (f"Polars {polars.__version__}, Arrow", lambda: by_polars(polars.scan_ipc(arrow))),
        (f"DataFusion {datafusion.__version__}, Parquet", lambda: by_datafusion(parquet)),
        (f"Spark {pyspark.__version__}, Parquet", lambda: by_spark(parquet)),
    ]
    for name, read in readers:
        rows = read()
        expected = expected or rows
        same = len(rows) == len(expected) and all(
            row[:2] == other[:2] and abs(row[2] - other[2]) <= 1e-9 * other[2]
            for row, other in zip(rows, expected)
        )
        print(f"{name}: {'the same' if same else 'OTHER ROWS'}")
        for row in rows:
            print(f"  {row[0]:12} {row[1]:8} {row[2]:.3f} ns")


main()
