#!/bin/sh
# The main job from end to end: a table with holes, and nobody knows what kinds of rows there are.
# Usage: sh examples/demo.sh [folder for the results, build/demo by default]
set -eu
halfseen=${HALFSEEN:-halfseen}
folder=${1:-build/demo}
mkdir -p "$folder"
rm -f "$folder"/penguins.*

run() {
    printf '\n$ halfseen'
    for word in "$@"; do printf ' %s' "$word"; done
    printf '\n\n'
    "$halfseen" "$@"
}

echo "344 penguins with holes in their records. The species is left out: it is what we look for."
run fit example:penguins --ignore species,year --report "$folder/penguins.html" -o "$folder/penguins.halfseen"
echo
echo "Now open the envelope: the species that nobody told it."
run compare "$folder/penguins.halfseen" example:penguins --truth species
echo
echo "Fill the holes; and to see how good that is, hide known cells and guess them."
run impute "$folder/penguins.halfseen" example:penguins -o "$folder/penguins.filled.csv"
run impute "$folder/penguins.halfseen" example:penguins --check
echo
echo "Read on in a browser: $folder/penguins.html"
