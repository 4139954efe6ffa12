#!/bin/sh
# Trains on the embedded example and recommends: examples/demo.sh [PROGRAM]
set -eu
cd "$(dirname "$0")/.."
program=${1:-build/ease}
model=build/npm.ease

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$(printf '\033[1m')
    plain=$(printf '\033[0m')
else
    bold=
    plain=
fi

say() { printf '\n%s\n' "$1"; }

run() {
    printf '\n%s$ ease %s%s\n' "$bold" "$*" "$plain"
    "$program" "$@"
}

say "30,000 npm packages and what they depend on. Learn which dependencies go together:"
run train examples/npm.tsv.gz -o $model

say "What was learned:"
run info $model

say "A web server, a React application, a Gulp build: what else do they need, and why?"
run recommend $model -k 5 --reasons 3 --history express,body-parser,mongoose
run recommend $model -k 5 --reasons 3 --history react,react-dom,redux
run recommend $model -k 5 --reasons 3 --history gulp,gulp-sass,browser-sync

say "One recommendation in full: the contributions add up to the score."
run explain $model --history react,react-dom,redux react-router

cat <<END

Next, with build/ease on your PATH:

  ease similar $model webpack                   # what is most like an item
  ease recommend $model --history YOUR,PACKAGES # a list for you
  ease train RATINGS.csv -o my.ease             # your own data: CSV, TSV, .npz, ...
  ease plan --items 40000                       # what training would take
  ease help                                     # everything else
END
