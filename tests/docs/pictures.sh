#!/bin/sh
# docs/ratios.svg is what docs/charts.sh draws from bench/results, and the tables of docs/performance.md are what
# docs/tables.sh makes of them. Prints the difference where they are not.
set -eu
cd "$(dirname "$0")/../.."
sh docs/charts.sh | diff - docs/ratios.svg
sh docs/tables.sh | diff - docs/performance.md
