#!/usr/bin/env bash
# Tests tests/gpu_record.sh check with records of every kind.
set -euo pipefail

script=$(dirname "${BASH_SOURCE[0]}")/gpu_record.sh
GPU_RECORD=$(mktemp)
export GPU_RECORD
trap 'rm -f "$GPU_RECORD"' EXIT
hash=$("$script" hash)
count=$("$script" tests | wc -l)

# record <hash> <passed> <failed> <skipped> [more fields]
record() {
  printf '{\n  "sources_sha256": "%s",\n  "device": "A GPU",\n  "driver": "1.2",\n  "cuda": "13.0",\n' "$1" >"$GPU_RECORD"
  printf '  "date": "2026-01-01",\n  "passed": %s,\n  "failed": %s,\n  "skipped": %s%s\n}\n' "$2" "$3" "$4" "${5:-}" >>"$GPU_RECORD"
}
# expect <pass|fail> <what>
expect() {
  local result=pass
  "$script" check >/dev/null 2>&1 || result=fail
  if [ "$result" != "$1" ]; then
    echo "$2: expected $1, got $result"
    cat "$GPU_RECORD"
    exit 1
  fi
}

record "$hash" "$count" 0 0 && expect pass "a good record"
record "$hash" "$((count - 1))" 1 0 && expect fail "a failed test"
record "$hash" "$((count - 1))" 0 1 && expect fail "a skipped test"
record "$hash" "$((count - 1))" 0 0 && expect fail "a test that did not run"
record "0$hash" "$count" 0 0 && expect fail "other sources"
record "0$hash" 0 0 0 ',
  "pending": "no device to be had"' && expect pass "a pending record"
rm "$GPU_RECORD" && expect fail "no record"
echo "all kinds of records are judged as they should"
