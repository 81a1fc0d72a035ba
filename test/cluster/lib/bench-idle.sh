# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Our csi-provisioner beside the upstream one, in one run: same cluster, same arguments, a sample driver each. Sourced by scripts/e2e.

# bench_idle [--seconds N]: prints a Markdown table of what each costs when there is nothing to do.
bench_idle() {
  local dir="$session_dir" seconds=60 name path port pids=()
  if [[ ${1-} == --seconds ]]; then
    seconds="${2:?--seconds needs a number}"
    shift 2
  fi
  (($# == 0)) || usage_error "bench-idle does not know $1"
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  if [[ -z ${E2E_PROVISIONER-} ]]; then product_ensure csi-provisioner; fi
  binaries_ensure upstream
  product_install provisioner
  kubeconfig_for_account "$dir/csi-provisioner.kubeconfig" "$product_namespace" csi-provisioner
  for name in csi-native upstream; do
    path="${E2E_PROVISIONER-}"
    if [[ $name == upstream ]]; then path=upstream; fi
    path="$(product_path "$path" csi-provisioner)"
    # Two names, so that each leads in a Lease of its own.
    product_driver_name="$name.bench.csi-native.io"
    product_start_driver "$dir" "driver-$name" node-1
    port="$(port_reserve "$dir")"
    product_start_provisioner "$dir" "$name" "$path" "driver-$name" "$dir/csi-provisioner.kubeconfig" "$port"
    pids+=("$name csi-provisioner=$(process_id "$dir" "$name")")
  done
  say 'letting both settle for 30 s'
  sleep 30
  say "measuring for $seconds s"
  "$e2e_repository/test/bench/idle.sh" --seconds "$seconds" "${pids[@]}"
  echo
  echo 'PSS divides shared pages among the processes that map them. csi-native shares libraries with both sample drivers here, as it would with other'
  echo 'sidecars of ours; RSS counts them in full.'
  for name in csi-native upstream; do
    process_check "$dir" "$name" || die "$name ended"
  done
}
