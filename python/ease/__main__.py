"""python -m ease FILE.parquet: prints a Parquet file, or a directory of part files, as CSV, for
the program ``ease``, which does not read Parquet itself."""

from __future__ import annotations

import os
import sys
from typing import Any, List

from ._data import path_bytes
from ._parquet import ROWS, is_parquet, need_pyarrow, open_parts

USAGE = "usage: python -m ease FILE.parquet | ease train - -o MODEL"


def plain_columns(schema: Any) -> List[str]:
    """The columns that CSV can have: no lists and no records."""
    pa = need_pyarrow("Parquet")
    return [f.name for f in schema if not pa.types.is_nested(f.type)]


def print_csv(path: bytes, to: Any) -> None:
    need_pyarrow("Parquet")
    from pyarrow import csv

    writer = None
    names: List[str] = []
    for part in open_parts(path):
        if writer is None:
            names = plain_columns(part.schema_arrow)
            left = [f.name for f in part.schema_arrow if f.name not in names]
            if left:
                print(f"python -m ease: without the nested columns {', '.join(left)}",
                      file=sys.stderr)
        for batch in part.iter_batches(batch_size=ROWS, columns=names):
            writer = writer or csv.CSVWriter(to, batch.schema)
            writer.write_batch(batch)
    if writer is not None:
        writer.close()


def main(args: List[str]) -> int:
    if len(args) != 1 or args[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 0 if args in (["-h"], ["--help"]) else 2
    path = path_bytes(args[0])
    try:
        if not is_parquet(path):
            print(f"python -m ease: {args[0]}: not a Parquet file, or none that can be read twice; "
                  "the program ease reads other files itself", file=sys.stderr)
            return 3
        print_csv(path, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader has ended, and says why
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ImportError, ValueError) as error:
        print(f"python -m ease: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
