#!/bin/sh
# From a table with missing values to classes, a comparison with the truth, and a table with the values filled in.
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

echo "344 penguins, with missing values. The species is left out: it is what we look for."
run fit example:penguins --ignore species,year --report "$folder/penguins.html" -o "$folder/penguins.halfseen"
echo
echo "Compare the classes with the species, which the model has not seen."
run compare "$folder/penguins.halfseen" example:penguins --truth species
echo
echo "Fill in the missing values. To check the result, hide known cells and predict them."
run impute "$folder/penguins.halfseen" example:penguins -o "$folder/penguins.filled.csv"
run impute "$folder/penguins.halfseen" example:penguins --check
echo
echo "Open the report in a browser: $folder/penguins.html"
