#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What csi-node-driver-registrar and livenessprobe cost when there is nothing to do, as rows of a Markdown table (idle.sh says what they mean),
# and whether the registrar stays within its limits: 2 MiB of memory that is its own, 130 wakeups a minute.
#
#   test/bench/node_idle.sh [--seconds N] [--build FOLDER]
#
# One sample driver; each program once as it starts and once after 300 health checks, livenessprobe also with a check every 10 s, as a kubelet makes
# them. Settled for 90 s, then measured over N seconds (default 60). Needs no root. Exit code 1 when a limit does not hold.

set -euo pipefail

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
readonly repository
readonly limit_mib=2.0 limit_wakeups=130
work=''
pids=()

usage() {
  echo 'usage: test/bench/node_idle.sh [--seconds N] [--build FOLDER]' >&2
  exit 2
}

finish() {
  ((${#pids[@]} == 0)) || kill -KILL "${pids[@]}" 2>/dev/null || true
  [[ -z $work ]] || rm -rf "$work"
}

# start NAME COMMAND...: sets pid.
start() {
  local name="$1"
  shift
  : >"$work/$name.log"
  "$@" >>"$work/$name.log" 2>&1 &
  pid=$!
  pids+=("$pid")
  # The shell shall not report its end.
  disown "$pid"
}

# wait_for NAME TEXT: until the log has the text.
wait_for() {
  local i
  for ((i = 0; i < 200; i++)); do
    ! grep -qF "$2" "$work/$1.log" || return 0
    sleep 0.1
  done
  echo "node_idle.sh: $1 did not start:" >&2
  cat "$work/$1.log" >&2
  exit 1
}

# The TCP port on which process $1 listens.
port_of() {
  local inodes hex
  inodes="$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n')"
  hex="$(awk -v inodes="${inodes//$'\n'/ }" 'BEGIN { n = split(inodes, list, " "); for (i = 1; i <= n; i++) own[list[i]] = 1 }
    $4 == "0A" && ($10 in own) { sub(/.*:/, "", $2); print $2; exit }' "/proc/$1/net/tcp")"
  printf '%d' "$((16#$hex))"
}

# check PORT: one health check that has to succeed.
check() {
  local connection answer
  exec {connection}<>"/dev/tcp/127.0.0.1/$1"
  printf 'GET /healthz HTTP/1.0\r\n\r\n' >&"$connection"
  read -r answer <&"$connection"
  exec {connection}>&-
  [[ $answer == 'HTTP/1.1 200 '* ]] || { echo "node_idle.sh: health check: $answer" >&2 && exit 1; }
}

probe_for_ever() {
  while :; do
    check "$1"
    sleep 10
  done
}

main() {
  local seconds=60 build="$repository/build/release" bin pid port i table failed=0 processes=()
  while (($# > 0)); do
    case $1 in
      --seconds) seconds="${2-}" && shift 2 || usage ;;
      --build) build="${2-}" && shift 2 || usage ;;
      *) usage ;;
    esac
  done
  bin="$build/bin"
  trap finish EXIT
  work="$(mktemp -d "${TMPDIR:-/tmp}/node-idle.XXXXXX")"
  mkdir "$work"/{registration,registration-http,registration-checked}
  start driver "$bin/sample-driver" --endpoint "unix://$work/csi.sock" --state-dir "$work/state"
  wait_for driver 'listens on'

  start registrar "$bin/csi-node-driver-registrar" --csi-address "$work/csi.sock" --kubelet-registration-path /x \
    --plugin-registration-path "$work/registration"
  wait_for registrar 'Skipping HTTP server'
  processes+=("csi-node-driver-registrar=$pid")
  start registrar-http "$bin/csi-node-driver-registrar" --csi-address "$work/csi.sock" --kubelet-registration-path /x \
    --plugin-registration-path "$work/registration-http" --http-endpoint 127.0.0.1:0
  wait_for registrar-http 'Starting HTTP server'
  processes+=("csi-node-driver-registrar with HTTP=$pid")
  start registrar-checked "$bin/csi-node-driver-registrar" --csi-address "$work/csi.sock" --kubelet-registration-path /x \
    --plugin-registration-path "$work/registration-checked" --http-endpoint 127.0.0.1:0
  wait_for registrar-checked 'Starting HTTP server'
  sleep 0.2
  port="$(port_of "$pid")"
  for ((i = 0; i < 300; i++)); do check "$port"; done
  processes+=("csi-node-driver-registrar after 300 checks=$pid")

  start liveness "$bin/livenessprobe" --csi-address "$work/csi.sock" --http-endpoint 127.0.0.1:0
  wait_for liveness 'ServeMux listening'
  processes+=("livenessprobe=$pid")
  start liveness-checked "$bin/livenessprobe" --csi-address "$work/csi.sock" --http-endpoint 127.0.0.1:0
  wait_for liveness-checked 'ServeMux listening'
  sleep 0.2
  port="$(port_of "$pid")"
  for ((i = 0; i < 300; i++)); do check "$port"; done
  processes+=("livenessprobe after 300 checks=$pid")

  start liveness-probed "$bin/livenessprobe" --csi-address "$work/csi.sock" --http-endpoint 127.0.0.1:0
  wait_for liveness-probed 'ServeMux listening'
  sleep 0.2
  processes+=("livenessprobe, a check every 10 s=$pid")
  start probes probe_for_ever "$(port_of "$pid")"

  sleep 90
  table="$("$repository/test/bench/idle.sh" --seconds "$seconds" "${processes[@]}")"
  printf '%s\n' "$table"
  printf '%s\n' "$table" | awk -F ' *[|] *' -v mib="$limit_mib" -v wakeups="$limit_wakeups" '
    $2 ~ /^csi-node-driver-registrar/ {
      if ($5 > mib) { print "node_idle.sh: " $2 ": more than " mib " MiB of its own" > "/dev/stderr"; bad = 1 }
      if ($8 > wakeups) { print "node_idle.sh: " $2 ": more than " wakeups " wakeups a minute" > "/dev/stderr"; bad = 1 }
    }
    END { exit bad }' || failed=1
  exit "$failed"
}

main "$@"
