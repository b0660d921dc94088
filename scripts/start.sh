#!/bin/sh
# npm start. What is missing is installed by a process that then ends, and this one becomes the pinned Node: a process that only waits for another would
# take some 40 MB for as long as Eligo runs.
node=$(node scripts/bootstrap.mjs node) || exit
exec "$node" scripts/bootstrap.mjs start "$@"
