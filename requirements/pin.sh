#!/bin/sh
# Pin every layer, with hashes, for Linux, macOS, Windows and every supported Python: `make pins`.
#
#   UV=uv sh requirements/pin.sh              keep the versions that still fit
#   UV=uv sh requirements/pin.sh --upgrade    take the newest ones; --upgrade-package NAME takes one
#
# A layer is installed together with the layers below it and lists only what it adds. Layers agree on versions, so that
# any of them fit into one environment.
set -eu
cd "$(dirname "$0")/.."
: "${UV:=uv}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/pinned.txt"

compile() { # compile LAYER BELOW... -- ARGUMENTS
    layer=$1; shift
    : >"$work/below.txt"
    while [ "$1" != -- ]; do cat "requirements/$1.txt" >>"$work/below.txt"; shift; done
    shift
    cat "$work/pinned.txt" "requirements/$layer.txt" >"$work/all.txt" # the versions to keep
    "$UV" pip compile -q --no-config --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --constraint "$work/pinned.txt" --output-file "$work/all.txt" "$@" >/dev/null
    {
        echo "# Written by \`make pins\`. Do not edit."
        awk '{ old = FILENAME == ARGV[1] } old { below[$0] } /^[^ ]/ { skip = old || $0 in below } !skip' \
            "$work/below.txt" "$work/all.txt"
    } >"$work/layer.txt"
    cat "$work/layer.txt" >>"$work/pinned.txt"
    cmp -s "$work/layer.txt" "requirements/$layer.txt" || cp "$work/layer.txt" "requirements/$layer.txt"
}

compile app -- pyproject.toml requirements/app.in --extra app --extra studio "$@"
compile build app -- requirements/build.in "$@"
compile dev app build -- pyproject.toml --extra dev "$@"
compile docs app build dev -- pyproject.toml --extra docs "$@"
compile peers app build dev -- pyproject.toml --extra peers "$@"
compile spark app build dev -- pyproject.toml --extra spark "$@"
compile ray app build dev -- pyproject.toml --extra ray "$@"
compile release app build dev -- requirements/release.in "$@"
