#!/bin/sh
# docs/ratios.svg is what docs/charts.sh draws from bench/results, docs/approximate.svg what bench/approximate.sh draws, and
# the tables of docs/performance.md, approximate.md, types.md and selection.md are what docs/tables.sh makes of them; so are the ratios in
# docs/choosing.md. Prints what differs.
set -eu
cd "$(dirname "$0")/../.."
sh docs/charts.sh | diff - docs/ratios.svg
sh docs/tables.sh | diff - docs/performance.md
sh bench/approximate.sh bench/results/approximate-host-epyc.txt | diff - docs/approximate.svg
for page in approximate types selection; do
    sh docs/tables.sh "$page" | diff - "docs/$page.md"
done
sh docs/tables.sh cells | while IFS= read -r cell; do
    grep -qF "| $cell |" docs/choosing.md || { echo "docs/choosing.md has no cell: $cell" && exit 1; }
done
