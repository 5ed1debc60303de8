#!/usr/bin/env bash
# Runs compute-sanitizer's four tools over the built gpu tests, several at a time; prints a line per run, with the seconds it
# took, and fails if any tool found something. Left out:
#
# - the tests of streams and the stress tests, which keep a kernel spinning: the tools serialise launches;
# - test cases tagged [large], which need tens of GiB;
# - test cases tagged [long], which take more than 10 minutes under a tool: the round trips of all shapes, bit patterns and
#   numbers of kept values. Those of every element offset, and a sample of the others with every encoding, run;
# - test cases tagged [api_error], in which a call of the CUDA API fails, as it should: memcheck reports such calls;
# - under racecheck, test cases tagged [collides], which decode corrupt Elias-Fano chunks: such a chunk may name a place of its
#   tile twice, lanes of one instruction then write the same word of shared memory, and one of the values stays. That is allowed,
#   since a corrupt chunk may decode to any values, but racecheck calls it a hazard. The other tools run these cases.
#
# Under racecheck device_fuzz runs with one host thread, and other programs with several are left out: the tool loses track of
# launches there ("Internal Sanitizer Error") and counts that as a hazard.
#
# Of many alike steps (the bits flipped by the tests of corrupt metadata, the replays of a step that offloads, the operations of
# several threads) one in BITSPARSE_THIN runs, 13 unless it is set.
#
#   tests/sanitize.sh [TEST_DIR] [JOBS] [TEST...]    (default build/tests, 8, all)
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tests_dir=${1:-$root/build/tests}
jobs_at_once=${2:-8}
chosen=("${@:3}")
logs=$(mktemp -d)
export BITSPARSE_THIN=${BITSPARSE_THIN:-13}
trap 'sort "$logs/summary" 2>/dev/null; rm -rf "$logs"' EXIT  # also what was done when it is interrupted
trap 'exit 124' TERM INT

check() { # <tool> <test>
  local log=$logs/$1.$2 status=0 cases='~[large]~[long]~[api_error]' start=$SECONDS
  if [ "$1" = racecheck ]; then cases+='~[collides]'; fi
  local arguments=("$cases")
  if [ "$1.$2" = racecheck.device_fuzz ]; then arguments=(--threads 1); fi
  if [[ $1 = racecheck && $2 =~ concurrency|link_units ]]; then return; fi
  (cd "$root" && timeout 900 compute-sanitizer --tool "$1" --error-exitcode 99 "$tests_dir/$2" "${arguments[@]}") >"$log" 2>&1 || status=$?
  local summary
  summary=$(grep -oE '(ERROR|RACECHECK) SUMMARY: .*' "$log" | tail -n 1)
  printf '%-10s %-32s exit %-3s %3d s  %s\n' "$1" "$2" "$status" "$((SECONDS - start))" "$summary" >>"$logs/summary"
}

if ((${#chosen[@]} == 0)); then
  mapfile -t chosen < <("$root/tests/gpu_record.sh" tests | grep -vE 'stream|stress|large')
fi
for tool in memcheck racecheck synccheck initcheck; do
  for test in "${chosen[@]}"; do
    check "$tool" "$test" &
    while [ "$(jobs -rp | wc -l)" -ge "$jobs_at_once" ]; do sleep 0.2; done
  done
done
wait
! grep -qvE 'exit 0 ' "$logs/summary"
