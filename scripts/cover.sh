#!/bin/bash
# Prints how much of each package and module the tests of the whole workspace reach.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=coverage.out
code=0
modules=$(go list -m)
go run ./tools/gotest -coverprofile="$profile" -coverpkg=github.com/etcdfence/etcdfence/... work |
	sed -E '/^coverage: /d; s/\tcoverage: .*//' || code=1

# Every test binary reports every block; one that any of them has run is covered.
echo
awk -v modules="$modules" '
	BEGIN { n = split(modules, module, "\n") }
	FNR == 1 { next }
	{ statements[$1] = $2; if ($3 > 0) hit[$1] = 1 }
	END {
		for (block in statements) {
			package = block; sub(/\/[^\/]*$/, "", package)
			of = ""
			for (i = 1; i <= n; i++)
				if (index(package "/", module[i] "/") == 1 && length(module[i]) > length(of)) of = module[i]
			total["module  " of] += statements[block]; total["package " package] += statements[block]
			if (block in hit) { reached["module  " of] += statements[block]; reached["package " package] += statements[block] }
		}
		for (name in total) if (name !~ /\/tools/) printf "%-80s %5.1f%%\n", name, 100 * reached[name] / total[name]
	}' "$profile" | sort
exit $code
