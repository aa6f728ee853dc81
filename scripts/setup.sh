#!/bin/bash
# Installs what the tests need and this machine lacks, with apt-get. Quick if nothing is.
set -euo pipefail

server_of() { # NAME: PostgreSQL's programs may be off PATH, as Debian has them
	command -v "$1" || compgen -G "/usr/lib/postgresql/*/bin/$1"
}

missing=()
if ! server_of initdb >/dev/null || ! server_of postgres >/dev/null; then
	missing+=(postgresql) # integration/pgtest starts servers of its own
fi
command -v mariadbd >/dev/null || [[ -x /usr/sbin/mariadbd ]] || missing+=(mariadb-server) # integration/mariatest starts servers of its own
command -v redis-server >/dev/null || missing+=(redis-server) # integration/redistest starts servers of its own
command -v etcd >/dev/null || missing+=(etcd-server)    # an older server than the embedded one
command -v etcdctl >/dev/null || missing+=(etcd-client) # "etcdctl lock" is one of the contenders
command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium) # opens the page of "demo --html"
command -v "${CC:-gcc}" >/dev/null || missing+=(gcc libc6-dev) # for -race

if [[ ${#missing[@]} -eq 0 ]]; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "setup: this machine has no apt-get; install what Debian calls: ${missing[*]}" >&2
	exit 1
fi
if [[ $(id -u) -ne 0 ]]; then
	echo "setup: missing: ${missing[*]}; install it with: sudo apt-get install ${missing[*]}" >&2
	exit 1
fi

# The tests start the servers that they need: none is to run because it was installed.
if [[ ! -e /usr/sbin/policy-rc.d ]]; then
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
