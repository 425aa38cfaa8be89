# Every target sets up what it needs in .venv, from the versions pinned in requirements/.
#
#   make test ARGS="-k chain"      arguments for pytest
#   make bench ONLY=latent_class   one benchmark
#   make faults ONLY=fits N=1000   one campaign, with so many cases of each family
#   make test PYTHON=python3.12    which Python to build .venv with (make clean first)

SHELL   := /bin/sh
BIN     := .venv/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check install -qq
PYTHONS := $(PYTHON) python3.13 python3.12 python3.11 python3
ARGS    ?=
ONLY    ?=
N       ?=
SANITIZED := $(wildcard tests/unit/test_*kernels.py) tests/unit/test_fused.py tests/unit/test_batch.py tests/unit/test_text.py \
    $(patsubst %,tests/laws/test_%.py,network transcript tree links)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo build quick test test-plain slow explore coverage faults fuzz plain-wheel heavy-peers sanitize check prose links format stub bench docs dist pins clean
# Without bytecode every worker rewrites all test modules anew, and every command that a test starts compiles halfseen.
unexport PYTHONDONTWRITEBYTECODE

help:          ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

demo: .venv/app.stamp ## find the hidden species in a table of penguins with missing values
	@ls src/halfseen/kernels/compiled*.so src/halfseen/kernels/compiled*.pyd >/dev/null 2>&1 || \
	    echo "on the NumPy kernels, which are fast enough here; make build compiles the C++ ones"
	@HALFSEEN=$(BIN)/halfseen sh examples/demo.sh

build: .venv/kernels.stamp ## compile the C++ kernels beside their sources

quick: .venv/dev.stamp .venv/kernels.stamp ## run the tests of every day: few examples of each law, no long tests
	HALFSEEN_EXAMPLES=0.2 $(BIN)/python -m pytest -n auto -m "not slow and not thorough" $(ARGS)

test: .venv/dev.stamp .venv/kernels.stamp ## run all tests and docstring examples
	$(BIN)/python -m pytest -n auto $(ARGS)

test-plain: .venv/dev.stamp ## the same on the NumPy kernels
	HALFSEEN_KERNELS=plain $(BIN)/python -m pytest -n auto $(ARGS)

plain-wheel: .venv/dev.stamp ## build a wheel as on a machine without a compiler: pure Python
	rm -rf build/plain-wheel
	CC=false CXX=false $(BIN)/python -m pip --disable-pip-version-check wheel -q --no-build-isolation --no-deps -w build/plain-wheel .
	ls build/plain-wheel/halfseen-*-py3-none-any.whl

sanitize: .venv/dev.stamp .venv/kernels.stamp ## test the kernels under the address and undefined-behaviour sanitizers
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DHALFSEEN_SANITIZE=ON >/dev/null
	$(BIN)/cmake --build build/sanitize
	$(BIN)/cmake --install build/sanitize --prefix src
	HALFSEEN_KERNELS=compiled ASAN_OPTIONS=detect_leaks=0 \
	    LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    $(BIN)/python -m pytest -q $(SANITIZED); \
	    status=$$?; $(BIN)/cmake --install build/make --prefix src; exit $$status

slow: .venv/peers.stamp .venv/spark.stamp .venv/ray.stamp .venv/kernels.stamp ## run the tests that need other libraries or a browser
	$(BIN)/python -m pytest -m slow $(ARGS)

explore: .venv/dev.stamp .venv/kernels.stamp ## look for counterexamples to the laws: new and many examples in every run
	HYPOTHESIS_PROFILE=new HALFSEEN_EXAMPLES=5 $(BIN)/python -m pytest -n auto tests/laws $(ARGS)

coverage: .venv/dev.stamp .venv/kernels.stamp ## run all tests and say which lines none of them reaches
	$(BIN)/python -m pytest -n auto --cov --cov-report=term --cov-report=html $(ARGS)

faults: .venv/dev.stamp .venv/kernels.stamp ## random fits, damaged files, failing disks, killed fits: hours; ONLY=fits N=1000
	$(BIN)/python -m tests.faults $(ONLY) $(if $(N),-n $(N)) $(ARGS)

fuzz: .venv/dev.stamp .venv/kernels.stamp ## coverage-guided fuzzing of the readers, N seconds of each; installs atheris
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(PIP) atheris==3.0.0
	$(BIN)/python -m tests.faults.fuzz $(ONLY) $(if $(N),--seconds $(N)) $(ARGS)

heavy-peers: .venv/peers.stamp ## also install dynamax, eflomal and torch-struct: gigabytes
	@mkdir -p build # pip wants hashes of everything as soon as a file has one: the other pins, without theirs
	sed -n 's/ *\\$$//; /==/p' requirements/app.txt requirements/dev.txt requirements/peers.txt >build/pins.txt
	$(PIP) -c build/pins.txt -r requirements/heavy-peers.txt

check: .venv/dev.stamp ## lint, formatting, types, layers of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

prose: .venv/dev.stamp ## spelling, wording and links of the pages; needs no network
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs src examples benchmarks tools
	$(BIN)/python -m tools.prose
	$(BIN)/python -m tools.links

links: .venv/dev.stamp ## ask for every external link of the pages; needs a network
	$(BIN)/python -m tools.links --web

format: .venv/dev.stamp ## put the code in shape: safe lint fixes, then formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

stub: .venv/app.stamp ## write src/halfseen/__init__.pyi anew from the manifests of the families
	$(BIN)/python -m tools.stub

bench: .venv/peers.stamp .venv/kernels.stamp ## run the benchmarks
	$(BIN)/python -m benchmarks $(ONLY)

docs: .venv/docs.stamp .venv/kernels.stamp ## build the documentation in docs/_build/html
	$(BIN)/sphinx-build -b html -W --keep-going -q -j 2 docs docs/_build/html
	$(BIN)/python -m tools.links docs/_build/html

dist: .venv/release.stamp ## build sdist and wheel in dist/ and check them
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

pins: .venv/release.stamp ## write requirements/*.txt anew from pyproject.toml; ARGS=--upgrade for the newest versions
	UV=$(BIN)/uv sh requirements/pin.sh $(ARGS)

clean:         ## remove .venv and everything built
	rm -f src/halfseen/kernels/compiled*.so src/halfseen/kernels/compiled*.pyd
	rm -rf .venv build dist docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the environment, layer by layer -----------------------------------------------------------------------------

.venv: .venv/dev.stamp

.venv/bin/python:
	@for python in $(PYTHONS); do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        echo "building .venv with $$($$python -V)"; exec $$python -m venv --clear .venv; \
	    fi; \
	done; \
	echo "halfseen needs Python 3.11 or newer with its venv module; none of these is one: $(PYTHONS)." >&2; \
	echo "Install one (Debian, Ubuntu: apt install python3 python3-venv) or name it: make PYTHON=/path/to/python3.12" >&2; \
	exit 1

# Python writes bytecode of what it imports; for all modules at once that would take longer than the rest of the installation.
.venv/app.stamp: pyproject.toml requirements/app.txt | .venv/bin/python
	$(PIP) --no-compile -r requirements/app.txt
	$(PIP) --no-compile --no-build-isolation --no-deps --editable .
	@touch $@

.venv/build.stamp: .venv/app.stamp requirements/build.txt
	$(PIP) --no-compile -r requirements/build.txt
	@touch $@

# The compiled kernels, beside their sources; where that fails everything runs on the NumPy kernels.
.venv/kernels.stamp: .venv/build.stamp CMakeLists.txt $(wildcard src/halfseen/kernels/*.cpp src/halfseen/kernels/*.hpp)
	@rm -f src/halfseen/kernels/compiled*.so src/halfseen/kernels/compiled*.pyd; mkdir -p build
	@if { $(BIN)/cmake -S . -B build/make -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python && \
	      $(BIN)/cmake --build build/make && $(BIN)/cmake --install build/make --prefix src; } >build/kernels.log 2>&1; \
	then echo "kernels: compiled"; \
	else echo "kernels: NumPy (the C++ ones could not be built: see build/kernels.log)"; fi
	@touch $@

.venv/dev.stamp: .venv/app.stamp requirements/dev.txt
	$(PIP) -r requirements/app.txt -r requirements/dev.txt
	@touch $@

.venv/docs.stamp: .venv/dev.stamp requirements/docs.txt
	$(PIP) -r requirements/app.txt -r requirements/dev.txt -r requirements/docs.txt
	@touch $@

.venv/peers.stamp: .venv/dev.stamp requirements/peers.txt
	$(PIP) -r requirements/app.txt -r requirements/dev.txt -r requirements/peers.txt
	@touch $@

.venv/spark.stamp: .venv/dev.stamp requirements/spark.txt
	$(PIP) -r requirements/app.txt -r requirements/dev.txt -r requirements/spark.txt
	@touch $@

.venv/ray.stamp: .venv/dev.stamp requirements/ray.txt
	$(PIP) -r requirements/app.txt -r requirements/dev.txt -r requirements/ray.txt
	@touch $@

.venv/release.stamp: .venv/dev.stamp requirements/release.txt
	$(PIP) -r requirements/app.txt -r requirements/dev.txt -r requirements/release.txt
	@touch $@
