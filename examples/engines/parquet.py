#!/usr/bin/env python3
"""A Gram file from Parquet that an engine has written (needs the module, and pyarrow):

    parquet.py -o events.gram --items items.parquet pairs-0.parquet pairs-1.parquet
    ease train --gram events.gram -o events.ease --lambda 500

Each file, or directory of part files, is a shard, as for `ease gram import`.
"""
import argparse

import ease


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shards", nargs="+")
    parser.add_argument("--items", help="item, users, all_users")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    ease.import_gram(args.shards, args.items).save(args.output)


if __name__ == "__main__":
    main()
