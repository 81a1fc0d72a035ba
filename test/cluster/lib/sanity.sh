# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# csi-sanity, the CSI project's own conformance test, against the sample driver. Sourced by scripts/e2e.

# sanity [--driver-flags "FLAG..."] [CSI-SANITY-FLAG...]: needs no cluster. The driver mounts for real, so it and the test share a mount
# namespace of their own, and nothing can be left mounted.
sanity() {
  local dir sanity access driver_flags=''
  need_root sanity 'the driver mounts volumes'
  need unshare util-linux
  if [[ ${1-} == --driver-flags ]]; then
    driver_flags="${2:?--driver-flags needs a value}"
    shift 2
  fi
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  binaries_ensure upstream
  sanity="$(binaries_dir upstream)/csi-sanity"
  session_begin ''
  dir="$session_dir"
  mkdir "$dir/driver" "$dir/driver/state"
  # The namespace lives as long as its first process, which waits for us.
  process_start "$dir" mounts unshare --mount --propagation private sleep infinity
  wait_until 5 'there is a mount namespace' sanity_namespace_ready "$dir"
  # csi-sanity 5.4.0 does not know GET_SNAPSHOT and takes an unknown capability for a failure.
  # shellcheck disable=SC2086  # a list of words
  process_start "$dir" driver nsenter --mount --target "$(process_id "$dir" mounts)" \
    "$(product_path "${E2E_DRIVER-}" sample-driver)" --endpoint "unix://$dir/driver/csi.sock" --state-dir "$dir/driver/state" \
    --node-id sanity-node --log "$dir/logs/driver.calls" --without GET_SNAPSHOT $driver_flags
  wait_until 20 'the driver listens' product_socket_ready "$dir" driver
  [[ -t 1 ]] || set -- --ginkgo.no-color "$@"
  for access in mount block; do
    say "csi-sanity with $access volumes"
    if ! foreground nsenter --mount --target "$(process_id "$dir" mounts)" \
      "$sanity" --csi.endpoint "unix://$dir/driver/csi.sock" --csi.mountdir "$dir/target" --csi.stagingdir "$dir/staging" \
      --csi.testvolumeaccesstype "$access" "$@"; then
      process_check "$dir" driver || true
      die "csi-sanity failed with $access volumes"
    fi
  done
  process_check "$dir" driver || die 'the driver ended'
  [[ -z $(product_volumes "$dir" driver) ]] || die "the driver still has volumes: $(product_volumes "$dir" driver)"
  [[ -z $(loop_devices_of "$dir") ]] || die "loop devices are left: $(loop_devices_of "$dir")"
  session_succeeded=1
  echo 'sanity: passed, nothing is left'
}

sanity_namespace_ready() {
  local pid
  pid="$(process_id "$1" mounts)" || return 1
  [[ $(readlink "/proc/$pid/ns/mnt") != "$(readlink /proc/self/ns/mnt)" ]]
}
