#!/usr/bin/env bash
# Runs the fuzz targets for long, one after the other at the lowest priority, and records what they did. Rerun it after a change
# of the format or the host codec.
#
#   tests/fuzz/campaign.sh [READER_SECONDS] [ROUND_TRIP_SECONDS] [WORK_DIR] [RECORD]
#     (default 1500, 900, build-fuzz, docs/results/host/fuzz.json)
#
# The corpus of the repository is only read; what the fuzzer finds new stays in WORK_DIR/corpus, and a later campaign goes on from
# there. An input that fails is left in WORK_DIR/failures and makes the script fail.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
declare -A seconds=([reader]=${1:-1500} [round_trip]=${2:-900})
work=${3:-$root/build-fuzz}
record=${4:-$root/docs/results/host/fuzz.json}
compiler=${FUZZ_CXX:-clang++}
flags=(-std=c++17 -O2 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
options=(-max_len=4096 -rss_limit_mb=3072 -timeout=60 -print_final_stats=1)
mkdir -p "$work/failures"

number() { # <pattern with one group> <log>: the last match, or 0
  local found
  found=$(sed -n "s/.*$1.*/\1/p" "$2" | tail -n 1)
  echo "${found:-0}"
}

run_target() { # <target>: one JSON object
  local target=$1 log=$work/$1.log corpus=$work/corpus/$1 status=0 start=$SECONDS failures
  mkdir -p "$corpus"
  nice -n 19 "$compiler" "${flags[@]}" -I"$root" -I"$root/include" "$root/tests/fuzz/${target}_fuzz.cpp" -o "$work/${target}_fuzz" >&2
  start=$SECONDS
  nice -n 19 "$work/${target}_fuzz" "${options[@]}" -max_total_time="${seconds[$1]}" -artifact_prefix="$work/failures/$target-" \
    "$corpus" "$root/tests/fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  failures=$(find "$work/failures" -name "$target-*" | wc -l)
  cat <<JSON
    {
      "target": "${target}_fuzz",
      "executions": $(number 'stat::number_of_executed_units: *\([0-9]*\)' "$log"),
      "seconds": $((SECONDS - start)),
      "edges": $(number 'cov: \([0-9]*\)' "$log"),
      "features": $(number ' ft: \([0-9]*\)' "$log"),
      "corpus_inputs": $(number ' corp: \([0-9]*\)' "$log"),
      "peak_rss_mb": $(number 'stat::peak_rss_mb: *\([0-9]*\)' "$log"),
      "failures": $failures,
      "exit_status": $status
    }
JSON
}

targets=(reader round_trip)
{
  echo '{'
  echo "  \"compiler\": \"$("$compiler" --version | head -n 1)\","
  echo "  \"flags\": \"${flags[*]}\","
  echo "  \"options\": \"${options[*]}\","
  echo "  \"date\": \"$(date -u +%Y-%m-%d)\","
  echo '  "targets": ['
  for target in "${targets[@]}"; do
    run_target "$target"
    [ "$target" = "${targets[-1]}" ] || echo '    ,'
  done
  echo '  ]'
  echo '}'
} >"$work/fuzz.json"
mkdir -p "$(dirname "$record")"
cp "$work/fuzz.json" "$record"
cat "$record"
! grep -qE '"(exit_status|failures)": [1-9]' "$record"
