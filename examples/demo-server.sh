#!/bin/sh
# Trains on the embedded example and serves it: examples/demo-server.sh [PROGRAM [ADDRESS]]
set -eu
cd "$(dirname "$0")/.."
program=${1:-build/ease}
address=${2:-127.0.0.1:8080}
model=build/npm.ease

"$program" train examples/npm.tsv.gz -o $model --lambda 200 --quiet
cat <<END
30,000 npm packages and what they depend on, at http://$address/ (Ctrl-C ends it)

  curl http://$address/v1/recommend -H 'Content-Type: application/json' \\
       -d '{"history": ["express", "mongoose"], "k": 3, "reasons": 2}'
  curl 'http://$address/v1/items?search=react'
  curl http://$address/openapi.json

END
exec "$program" serve $model --users examples/npm.tsv.gz --listen "$address" --log text
