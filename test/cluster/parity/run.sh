#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the embedded API server with a real one, request by request.
#
#   run.sh --server URL [--ca FILE] [--token TOKEN] [--cert FILE --key FILE]     compare
#   run.sh --record --server URL ...        compare, and keep the real server's answers as golden.jsonl
#   run.sh                                  compare with golden.jsonl, without a real server
#
# The real server must be one without controllers (they would change objects between two requests) and must not have a namespace
# "parity". E2E_BUILD names the build folder (default: build/release).

set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
binary="${E2E_BUILD:-$here/../../../build/release}/bin/apiserver_parity"
[[ -x $binary ]] || {
  echo "run.sh: $binary is missing: build the target apiserver_parity" >&2
  exit 2
}

arguments=(--script "$here/requests.jsonl")
record=false
server=false
while (($# > 0)); do
  case "$1" in
    --record) record=true ;;
    --server)
      server=true
      arguments+=("$1" "${2:?}")
      shift
      ;;
    --ca | --token | --cert | --key)
      arguments+=("$1" "${2:?}")
      shift
      ;;
    *)
      echo "run.sh: unknown argument $1" >&2
      exit 2
      ;;
  esac
  shift
done
if $record; then
  $server || {
    echo "run.sh: --record needs --server" >&2
    exit 2
  }
  arguments+=(--record "$here/golden.jsonl")
elif ! $server; then
  arguments+=(--golden "$here/golden.jsonl")
fi
exec "$binary" "${arguments[@]}"
