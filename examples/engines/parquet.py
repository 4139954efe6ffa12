#!/usr/bin/env python3
"""Parquet to the CSV that `ease gram import` reads (needs pyarrow):

    parquet.py items.parquet > items.csv
    parquet.py pairs-0.parquet pairs-1.parquet | ease gram import - --items items.csv -o x.gram

Columns keep their names and order; files and directories are read a batch at a time. All files
of one call are one shard: a pair stands in one of them.
"""
import sys

import pyarrow.csv
import pyarrow.dataset


def main(paths):
    batches = (b for path in paths
               for b in pyarrow.dataset.dataset(path, format="parquet").to_batches())
    first = next(batches, None)
    if first is None:
        sys.exit("no rows")
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    with pyarrow.csv.CSVWriter(sys.stdout.buffer, first.schema, write_options=options) as out:
        out.write_batch(first)
        for batch in batches:
            out.write_batch(batch)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
