# The commands of every day. Each is a word for a program in bin/ or .venv/bin that also works by itself.
.PHONY: run test check lint format types docs bench

run: ## Everything on this machine, until Ctrl-C
	bin/run

test: ## The fast tests; others with ARGS, as in make test ARGS=--all or ARGS="loyalty/rewards -k expiry"
	bin/test $(ARGS)

check: ## Everything that a change has to pass
	.ci/run

lint:
	.venv/bin/ruff check

format:
	.venv/bin/ruff format

types:
	bin/types

docs: ## The documentation as pages
	bin/docs

bench: ## Measurements; one part with ARGS, as in make bench ARGS=scan
	.venv/bin/python -m bench $(ARGS)
