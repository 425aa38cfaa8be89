#!/bin/sh
# From a table with missing values to groups, a comparison with the truth, and a check of the missing values filled in.
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

echo "344 penguins, four measurements. The species is left out: it is what we look for."
run fit example:penguins --model gaussian --ignore species,year,island,sex \
    -o "$folder/penguins.halfseen" --report "$folder/penguins.html"
echo
echo "The model has not seen the species. Compare its classes with them."
run compare "$folder/penguins.halfseen" example:penguins --truth species
echo
echo "Missing values are filled in from the rest of the row. How well: hide known cells and predict them."
run impute "$folder/penguins.halfseen" example:penguins -o "$folder/penguins.filled.csv"
run impute "$folder/penguins.halfseen" example:penguins --check
echo
echo "Open the report in a browser: $folder/penguins.html"
