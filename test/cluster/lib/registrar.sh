# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# csi-node-driver-registrar beside the real kubelet: what kubelet makes of it when one of kubelet, driver, registrar and the folder between them
# restarts, vanishes or is wrong. Each scenario begins and ends with the driver registered. Sourced by scripts/e2e.

readonly registrar_scenarios=(registers kubelet-restart driver-restart driver-renamed socket-wiped socket-wiped-and-recreated killed stale-socket
  read-only-folder second-version node-info-fails term)
readonly registrar_annotation='csi\.volume\.kubernetes\.io/nodeid'
registrar_port=''
# Lines of its log before the last start.
registrar_log_begin=0
registrar_times=()

# registrar [SCENARIO...]: all of them, in order, on a node of its own.
registrar() {
  local dir="$session_dir" scenario begun names=("$@")
  need_root registrar 'it runs a real node'
  [[ -z $session_external ]] || die 'registrar needs a node of its own; run it without --kubeconfig, E2E_KUBECONFIG and KUBECONFIG'
  ((${#names[@]} > 0)) || names=("${registrar_scenarios[@]}")
  for scenario in "${names[@]}"; do
    [[ " ${registrar_scenarios[*]} " == *" $scenario "* ]] || usage_error "registrar has no scenario '$scenario'"
  done
  if [[ -z ${E2E_DRIVER-} ]]; then product_ensure sample-driver; fi
  if [[ -z ${E2E_REGISTRAR-} ]]; then product_ensure csi-node-driver-registrar; fi
  node_start "$dir"
  registrar_port="$(port_reserve "$dir")"
  product_install_driver
  product_start_node_driver "$dir"
  for scenario in "${names[@]}"; do
    say "scenario $scenario"
    registrar_start "$dir"
    registrar_await_registered "$dir"
    begun="$(now_ms)"
    "registrar_scenario_${scenario//-/_}" "$dir"
    registrar_times+=("$(printf '| %s | %s |' "$scenario" "$(seconds $(($(now_ms) - begun)))")")
    registrar_await_registered "$dir"
    registrar_stop "$dir"
  done
  process_check "$dir" driver || die 'the driver ended'
  printf '| scenario | seconds |\n|---|---:|\n'
  printf '%s\n' "${registrar_times[@]}"
  echo "registrar: passed (${#names[@]} scenarios)"
}

registrar_fail() { die "$* (logs/csi-node-driver-registrar.log, logs/kubelet.log)"; }

# ---- the registrar

# registrar_start DIR [FLAG...]: below a supervisor, as a container that kubelet starts again.
registrar_start() {
  local dir="$1"
  shift
  registrar_log_begin="$(registrar_log_lines "$dir")"
  supervisor_start "$dir" csi-node-driver-registrar "$(product_path "${E2E_REGISTRAR-}" csi-node-driver-registrar)" \
    --csi-address "$(product_node_socket "$dir")" --kubelet-registration-path "$node_kubelet_root/plugins/$product_driver_name/csi.sock" \
    --plugin-registration-path "$dir/node/kubelet/plugins_registry" --http-endpoint "127.0.0.1:$registrar_port" -v 5 "$@"
}

registrar_stop() {
  process_stop "$1" csi-node-driver-registrar TERM 10 || registrar_fail 'csi-node-driver-registrar did not end when it was told to'
  wait_until 20 'the driver is not registered any more' registrar_unregistered || registrar_fail 'the driver stays registered'
}

# registrar_restart DIR [FLAG...]: with other flags.
registrar_restart() {
  registrar_stop "$1"
  registrar_start "$@"
  registrar_await_registered "$1"
}

registrar_socket() { printf '%s/node/kubelet/plugins_registry/%s-reg.sock' "$1" "$product_driver_name"; }
registrar_pid() { supervisor_program "$1" csi-node-driver-registrar; }
registrar_log_lines() { { cat "$1/logs/csi-node-driver-registrar.log" 2>/dev/null || true; } | wc -l; }

# registrar_logged DIR TEXT: how many records of this start have the text.
registrar_logged() { tail -n "+$((registrar_log_begin + 1))" "$1/logs/csi-node-driver-registrar.log" 2>/dev/null | grep -cF "$2" || true; }
registrar_told() { registrar_logged "$1" '"Received NotifyRegistrationStatus call" status="plugin_registered:true"'; }
registrar_told_more_than() { (($(registrar_told "$1") > $2)); }
registrar_health() { http_get "$registrar_port" /healthz | head -n 1 | tr -d '\r'; }
registrar_health_is() { [[ $(registrar_health) == "HTTP/1.1 $1 "* ]]; }
registrar_ends() { (($(supervisor_restarts "$1" csi-node-driver-registrar) > $2)); }
# The exit code of its last end.
registrar_last_code() { grep ' csi-node-driver-registrar ' "$1/logs/supervisor.log" | tail -n 1 | sed 's/.* //'; }

# ---- kubelet's side

registrar_registered() {
  product_driver_registered "$node_name" &&
    [[ $(kubectl get node "$node_name" -o jsonpath="{.metadata.annotations.$registrar_annotation}") == *"\"$product_driver_name\":\"id-of-$node_name\""* ]]
}
registrar_unregistered() {
  ! product_driver_registered "$node_name" &&
    [[ $(kubectl get node "$node_name" -o jsonpath="{.metadata.annotations.$registrar_annotation}") != *"\"$product_driver_name\""* ]]
}
registrar_await_registered() {
  wait_until 60 'the driver is registered' registrar_registered || registrar_fail 'the driver is not registered'
}
# registrar_still SECONDS COMMAND...: holds all that time.
registrar_still() {
  local end=$(($(now_ms) + $1 * 1000))
  shift
  while (($(now_ms) < end)); do
    "$@" || return 1
    sleep 0.2
  done
}

# ---- scenarios. Numbers are those of our specification.

# K2: CSINode, annotation, one notification; /healthz is well.
registrar_scenario_registers() {
  local dir="$1"
  wait_until 5 'kubelet has told the outcome' registrar_told_more_than "$dir" 0 || registrar_fail 'kubelet said nothing'
  [[ $(kubectl get csinode "$node_name" -o jsonpath="{.spec.drivers[?(@.name==\"$product_driver_name\")].nodeID}") == "id-of-$node_name" ]] ||
    registrar_fail 'CSINode has another node id'
  registrar_health_is 200 || registrar_fail "/healthz: $(registrar_health)"
  [[ $(stat -c %A "$(registrar_socket "$dir")") == srwx------ ]] || registrar_fail 'the socket has other permissions'
}

# registrar 10: kubelet asks and tells again; nothing else happens to the registrar.
registrar_scenario_kubelet_restart() {
  local dir="$1" pid told
  pid="$(registrar_pid "$dir")"
  wait_until 5 'kubelet has told the outcome' registrar_told_more_than "$dir" 0 || registrar_fail 'kubelet said nothing'
  told="$(registrar_told "$dir")"
  node_kubelet_restart "$dir"
  wait_until 60 'the node is ready' node_ready "$dir" || die 'the node is not ready'
  wait_until 30 'the new kubelet has registered the driver' registrar_told_more_than "$dir" "$told" ||
    registrar_fail 'the new kubelet did not register the driver'
  [[ $(registrar_pid "$dir") == "$pid" ]] || registrar_fail 'the registrar did not stay'
}

# B18: nothing happens; kubelet dials the driver for each call.
registrar_scenario_driver_restart() {
  local dir="$1" pid told
  pid="$(registrar_pid "$dir")"
  wait_until 5 'kubelet has told the outcome' registrar_told_more_than "$dir" 0 || registrar_fail 'kubelet said nothing'
  told="$(registrar_told "$dir")"
  process_stop "$dir" driver KILL
  registrar_health_is 200 || registrar_fail "/healthz without the driver: $(registrar_health)"
  product_start_node_driver "$dir"
  registrar_still 12 registrar_registered || registrar_fail 'the driver did not stay registered'
  [[ $(registrar_pid "$dir") == "$pid" && $(registrar_told "$dir") == "$told" ]] || registrar_fail 'the registrar did something'
}

# Better than upstream, which keeps the old name for ever.
registrar_scenario_driver_renamed() {
  local dir="$1" name="$product_driver_name" socket
  socket="$(product_node_socket "$dir")"
  process_stop "$dir" driver KILL
  rm -f "$socket"
  # The same socket, another name.
  node_process_start "$dir" driver "$(product_path "${E2E_DRIVER-}" sample-driver)" --endpoint "unix://$node_kubelet_root/plugins/$name/csi.sock" \
    --state-dir "$(product_node_state "$dir")" --driver-name other.csi-native.io --node-id "id-of-$node_name"
  wait_until 30 'the other name is registered' registrar_only_driver other.csi-native.io || registrar_fail 'the other name is not registered'
  process_stop "$dir" driver KILL
  rm -f "$socket"
  product_start_node_driver "$dir"
  wait_until 30 'the first name is registered' registrar_only_driver "$name" || registrar_fail 'the first name is not registered again'
}
registrar_only_driver() { [[ $(kubectl get csinode "$node_name" -o jsonpath='{.spec.drivers[*].name}') == "$1" ]]; }

# E5, K26: the driver is gone, the registrar stays and its probe says so; started again it registers.
registrar_scenario_socket_wiped() {
  local dir="$1" pid
  pid="$(registrar_pid "$dir")"
  registrar_wipe "$dir"
  registrar_health_is 404 || registrar_fail "/healthz without the socket: $(registrar_health)"
  registrar_still 12 registrar_unregistered || registrar_fail 'the driver came back by itself'
  [[ $(registrar_pid "$dir") == "$pid" ]] || registrar_fail 'the registrar ended by itself'
  # What kubelet does after failed probes.
  kill -TERM "$pid"
}
registrar_wipe() {
  find "$1/node/kubelet/plugins_registry" -mindepth 1 -delete
  wait_until 10 'kubelet has noticed' registrar_unregistered || registrar_fail 'the driver stays registered without its socket'
}

# Our flag: the same without a restart.
registrar_scenario_socket_wiped_and_recreated() {
  local dir="$1" pid told
  registrar_restart "$dir" --recreate-socket
  wait_until 5 'kubelet has told the outcome' registrar_told_more_than "$dir" 0 || registrar_fail 'kubelet said nothing'
  pid="$(registrar_pid "$dir")"
  told="$(registrar_told "$dir")"
  # kubelet may notice the end of the old socket and the new one in one go.
  find "$dir/node/kubelet/plugins_registry" -mindepth 1 -delete
  wait_until 30 'the driver is registered again' registrar_told_more_than "$dir" "$told" || registrar_fail 'the socket was not made again'
  registrar_await_registered "$dir"
  registrar_health_is 200 || registrar_fail "/healthz: $(registrar_health)"
  [[ $(registrar_pid "$dir") == "$pid" ]] || registrar_fail 'the registrar did not stay'
}

# K5: the next start replaces the socket; kubelet takes the old one back and registers the new one.
registrar_scenario_killed() {
  local dir="$1" before
  before="$(stat -c %i "$(registrar_socket "$dir")")"
  registrar_log_begin="$(registrar_log_lines "$dir")"
  kill -KILL "$(registrar_pid "$dir")"
  wait_until 20 'kubelet has registered the new socket' registrar_told_more_than "$dir" 0 || registrar_fail 'the new socket is not registered'
  [[ $(stat -c %i "$(registrar_socket "$dir")") != "$before" ]] || say 'the new socket has the number of the old one'
}

# registrar 10: without a registrar the file alone keeps the driver registered, over a restart of nobody; the next one replaces it.
registrar_scenario_stale_socket() {
  local dir="$1"
  process_stop "$dir" csi-node-driver-registrar KILL
  [[ -S $(registrar_socket "$dir") ]] || registrar_fail 'the killed registrar left no socket'
  registrar_still 5 registrar_registered || registrar_fail 'the driver did not stay registered'
  registrar_start "$dir"
  wait_until 20 'kubelet has registered the new socket' registrar_told_more_than "$dir" 0 || registrar_fail 'the new socket is not registered'
}

# C7: exit 1 with the reason, again and again, until the folder can be written.
registrar_scenario_read_only_folder() {
  local dir="$1" folder="$1/node/kubelet/plugins_registry" ends
  ends="$(supervisor_restarts "$dir" csi-node-driver-registrar)"
  # Our view only: kubelet has its own mount.
  mount --bind "$folder" "$folder"
  mount -o remount,bind,ro "$folder"
  if ! registrar_read_only "$dir" "$ends"; then
    umount "$folder"
    registrar_fail 'the registrar did not end as it should'
  fi
  umount "$folder"
}
registrar_read_only() {
  local dir="$1"
  kill -KILL "$(registrar_pid "$dir")" || return 1
  # The kill, and two ends of its own.
  wait_until 20 'it has ended twice' registrar_ends "$dir" "$(($2 + 2))" || return 1
  [[ $(registrar_last_code "$dir") == 1 ]] || return 1
  (($(registrar_logged "$dir" 'read-only file system') >= 2))
}

# K17: kubelet takes a second socket of the driver only with a higher version, and every registrar of this release says 1.0.0.
registrar_scenario_second_version() {
  local dir="$1" folder="$1/node/kubelet/plugins_registry/second" status=0 code
  mkdir "$folder"
  process_start "$dir" second-registrar bash -c '"$@"; echo "ended with $?"' second "$(product_path "${E2E_REGISTRAR-}" csi-node-driver-registrar)" \
    --csi-address "$(product_node_socket "$dir")" --kubelet-registration-path "$node_kubelet_root/plugins/$product_driver_name/csi.sock" \
    --plugin-registration-path "$folder" -v 5
  wait_until 20 'the second one has ended' registrar_second_ended "$dir" || registrar_fail 'kubelet took the second socket'
  code="$(tail -n 1 "$dir/logs/second-registrar.log")"
  [[ $code == 'ended with 1' ]] || status=1
  grep -qF 'is already registered with a higher supported version: \"1.0.0\"' "$dir/logs/second-registrar.log" || status=1
  [[ -S $folder/$product_driver_name-reg.sock ]] || status=1
  rm -rf "$folder"
  ((status == 0)) || registrar_fail "the second registrar: $code (logs/second-registrar.log)"
  registrar_still 3 registrar_registered || registrar_fail 'the first registration did not stay'
}
registrar_second_ended() { ! process_id "$1" second-registrar >/dev/null; }

# K12: the refusal ends the registrar with 1; once the driver works it is registered.
registrar_scenario_node_info_fails() {
  local dir="$1" ends
  process_stop "$dir" driver KILL
  product_start_node_driver "$dir" --fail NodeGetInfo=Internal:broken
  ends="$(supervisor_restarts "$dir" csi-node-driver-registrar)"
  # A new socket makes kubelet ask.
  kill -KILL "$(registrar_pid "$dir")"
  wait_until 30 'kubelet has refused the driver' registrar_ends "$dir" "$((ends + 1))" || registrar_fail 'the registrar did not end'
  [[ $(registrar_last_code "$dir") == 1 ]] || registrar_fail "the registrar ended with $(registrar_last_code "$dir")"
  (($(registrar_logged "$dir" 'code = Internal desc = broken') > 0)) || registrar_fail 'the reason is not in the log'
  registrar_unregistered || registrar_fail 'the driver is registered'
  process_stop "$dir" driver KILL
  product_start_node_driver "$dir"
}

# K4, F1: SIGTERM takes the registration back, exit 0.
registrar_scenario_term() {
  local dir="$1" ends
  ends="$(supervisor_restarts "$dir" csi-node-driver-registrar)"
  # Held back, so that kubelet sees the gap.
  kill -STOP "$(process_id "$dir" csi-node-driver-registrar)"
  kill -TERM "$(registrar_pid "$dir")"
  wait_until 10 'the driver is not registered any more' registrar_unregistered || registrar_fail 'the driver stays registered'
  [[ ! -e $(registrar_socket "$dir") ]] || registrar_fail 'the socket is still there'
  kill -CONT "$(process_id "$dir" csi-node-driver-registrar)"
  wait_until 10 'its end is known' registrar_ends "$dir" "$ends" || registrar_fail 'the registrar did not end'
  [[ $(registrar_last_code "$dir") == 0 ]] || registrar_fail "the registrar ended with $(registrar_last_code "$dir")"
}
