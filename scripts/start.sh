#!/bin/sh
# npm start. What is missing is installed by a process that then ends, and this one becomes the pinned Node: a process that only waits for another would
# take some 40 MB for as long as Eligo runs.
node=$(node scripts/bootstrap.mjs node) || exit
# Two malloc arenas in place of eight per core: the threads of a process that mostly waits would keep 3 to 4 MB more between them.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
# The same process goes on: what has just been checked is not checked again.
export ELIGO_BOOTSTRAPPED=$$
exec "$node" scripts/bootstrap.mjs start "$@"
