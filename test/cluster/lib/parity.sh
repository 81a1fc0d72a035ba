# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The embedded API server of our tests against a real one. Sourced by scripts/e2e.

# parity [--record]: with --record the real server's answers become the golden ones that the unit tests compare with.
parity() {
  local dir server
  if [[ -z ${E2E_BUILD-} ]]; then
    "$e2e_repository/scripts/build" release apiserver_parity >&2 || die 'the build failed'
  fi
  session_begin ''
  dir="$session_dir"
  # Controllers would change objects between two requests.
  controlplane_start "$dir" api-only
  server="$(controlplane_kubectl "$dir" config view --minify -o jsonpath='{.clusters[0].cluster.server}')"
  E2E_BUILD="$product_build" foreground "$e2e_repository/test/cluster/parity/run.sh" \
    --server "$server" --ca "$dir/pki/ca.crt" --cert "$dir/pki/admin.crt" --key "$dir/pki/admin.key" "$@" ||
    die 'the two servers differ'
  session_succeeded=1
}
