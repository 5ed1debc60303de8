#!/usr/bin/env bash
# The record of the last run of the gpu tests: CI has no GPU, so the run is proved by a file in the repository.
#
#   tests/gpu_record.sh run [TEST_DIR]  on a machine with a GPU: run the built gpu tests (default build/tests) and write
#                                       tests/gpu_record.json; GPU_RECORD_JOBS tests at a time (default 1)
#   tests/gpu_record.sh check           compare the record with the sources; fails if they differ or a test failed
#
# A change for which no GPU can be had may carry "pending": "<reason>" in the record: check then passes with a loud
# warning. Finished work never carries it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
record=${GPU_RECORD:-$root/tests/gpu_record.json}

# SHA-256 over the names and contents of all files of include/ and tests/ but the record.
source_hash() {
  (cd "$root" && find include tests -type f ! -name gpu_record.json ! -name '*.pyc' -print0 | LC_ALL=C sort -z |
    xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
}

field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\"]*[^\",]\)\"\{0,1\},\{0,1\}\$/\1/p" "$record"; }

# The executables of the gpu label, as tests/device_tests.cmake names them: Catch2 tests, and examples with a main of their own.
gpu_tests() {
  sed -n -e 's/^bitsparse_add_test(gpu \([^ )]*\)\.[a-z]*.*/\1/p' -e 's/^add_test(NAME \([a-z_]*\) COMMAND \1)$/\1/p' \
    "$root/tests/device_tests.cmake" | tr / _
}

# Runs one test; its output goes to $logs/<test>, its exit status to $logs/<test>.status.
run_test() {
  local status=0
  (cd "$root" && timeout 600 "$tests_dir/$1") >"$logs/$1" 2>&1 || status=$?
  echo "$status" >"$logs/$1.status"
}

run() {
  local passed=0 failed=0 skipped=0 name status hash
  tests_dir=${1:-$root/build/tests}
  logs=$(mktemp -d)
  hash=$(source_hash)
  export root tests_dir logs
  export -f run_test
  gpu_tests | xargs -P "${GPU_RECORD_JOBS:-1}" -I '{}' bash -c 'run_test {}'
  for name in $(gpu_tests); do
    status=$(cat "$logs/$name.status")
    case $status in
      0) passed=$((passed + 1)); echo "passed   $name: $(tail -n 2 "$logs/$name" | head -n 1)" ;;
      77) skipped=$((skipped + 1)); echo "skipped  $name" ;;
      *) failed=$((failed + 1)); echo "FAILED   $name ($status)"; tail -n 40 "$logs/$name" ;;
    esac
  done
  rm -r "$logs"
  if [ "$hash" != "$(source_hash)" ]; then
    echo "gpu record: the sources changed while the tests ran; run it again" >&2
    return 1
  fi
  cat >"$record" <<JSON
{
  "sources_sha256": "$hash",
  "device": "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)",
  "driver": "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)",
  "cuda": "$(nvidia-smi | sed -n 's/.*CUDA Version: \([0-9.]*\).*/\1/p')",
  "date": "$(date -u +%Y-%m-%d)",
  "passed": $passed,
  "failed": $failed,
  "skipped": $skipped
}
JSON
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

check() {
  if [ ! -f "$record" ]; then
    echo "gpu record: tests/gpu_record.json is missing; run tests/gpu_record.sh run on a machine with a GPU" >&2
    return 1
  fi
  local pending
  pending=$(field pending)
  if [ -n "$pending" ]; then
    echo "WARNING: the gpu tests have NOT run on these sources. Reason given: $pending" >&2
    return 0
  fi
  if [ "$(field sources_sha256)" != "$(source_hash)" ]; then
    echo "gpu record: include/ or tests/ changed since the gpu tests ran ($(field date), $(field device));" \
      "run tests/gpu_record.sh run on a machine with a GPU and commit the record" >&2
    return 1
  fi
  if [ "$(field failed)" != 0 ] || [ "$(field skipped)" != 0 ] || [ "$(field passed)" != "$(gpu_tests | wc -l)" ]; then
    echo "gpu record: $(field passed) passed, $(field failed) failed, $(field skipped) skipped of $(gpu_tests | wc -l)" >&2
    return 1
  fi
  echo "gpu record: $(field passed) gpu tests passed on $(field device), driver $(field driver), $(field date)"
}

case ${1:-} in
  run) run "${2:-}" ;;
  check) check ;;
  hash) source_hash ;;
  tests) gpu_tests ;;
  *) sed -n '2,11p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
