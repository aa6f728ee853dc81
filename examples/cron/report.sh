#!/bin/sh
# A job of cron that is run by "etcdfence run nightly -- report.sh" and writes to PostgreSQL
# (PGHOST, PGDATABASE and so on). The lock lets one of them run at a time. The token lets the
# database refuse one that was paused, lost the lock without noticing, and comes too late.
set -eu

# snippet: job
# First of all, claim: from now on no older holder can write. Then work, for as long as it takes.
claim="UPDATE reports SET fence_epoch = :epoch, fence_revision = :revision
        WHERE name = :'name' AND (fence_epoch, fence_revision) < (:epoch, :revision)"

# Then write, if nobody newer has claimed meanwhile. One statement compares and writes.
write="UPDATE reports SET body = :'body'
        WHERE name = :'name' AND (fence_epoch, fence_revision) = (:epoch, :revision)"

fenced() { # STATEMENT BODY: fails unless exactly one row was written
	printf '%s\n' "$1;" | psql -qX -v ON_ERROR_STOP=1 -v name=nightly -v body="$2" \
		-v epoch="$ETCDFENCE_EPOCH" -v revision="$ETCDFENCE_REVISION" --set=QUIET=off |
		grep -qx 'UPDATE 1' || { echo "report: stale, somebody newer has the lock" >&2; exit 3; }
}

fenced "$claim" ''
body=$(${REPORT_COMMAND:-date})
fenced "$write" "$body"
# end snippet
