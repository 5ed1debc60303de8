#!/usr/bin/env bash
# Kills the offload benchmark in the middle of its transfers, twice, and runs it again: device and host memory must be back, and the
# results right. Prints JSON.
#
#   bench/offload/restart.sh PROGRAM
set -euo pipefail

program=$1
device_mib() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -n 1; }
host_mib() { awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo; }

rows=()
failed=0
for part in transfer step; do
  device_before=$(device_mib) host_before=$(host_mib)
  "$program" --part "$part" --json /dev/null >/dev/null 2>&1 &
  pid=$!
  sleep 7
  device_meanwhile=$(device_mib) host_meanwhile=$(host_mib)
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  for ((i = 0; i < 50; ++i)); do
    if (($(device_mib) <= device_before + 8 && $(host_mib) >= host_before - 512)); then break; fi
    sleep 0.2
  done
  device_after=$(device_mib) host_after=$(host_mib)
  status=0
  "$program" --part link --rounds 2 --json /dev/null >/dev/null 2>&1 || status=$?
  if ((status != 0 || device_after > device_before + 8 || host_after < host_before - 512)); then failed=1; fi
  rows+=("{\"killed_in\": \"$part\", \"device_used_mib\": [$device_before, $device_meanwhile, $device_after], \"host_available_mib\": [$host_before, $host_meanwhile, $host_after], \"next_run_status\": $status}")
done
printf '[%s,\n %s]\n' "${rows[@]}"
exit "$failed"
