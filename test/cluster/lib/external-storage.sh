# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Kubernetes' own External.Storage suite against the sample driver with our sidecars or upstream's, on a real node. Sourced by scripts/e2e.

readonly external_storage_folder="$e2e_repository/test/cluster/external-storage"
# A slice with fewer specs than this was not what somebody wanted to run.
readonly external_storage_least=10

# external_storage_list: the names of the documents.
external_storage_list() {
  local file
  for file in "$external_storage_folder"/*.yaml; do
    file="${file##*/}"
    printf '%s\n' "${file%.yaml}"
  done
}

# external_storage_setting FILE KEY: the value of a line "# e2e KEY: VALUE" in the document's head.
external_storage_setting() { sed -n "s/^# e2e $2: //p" "$1"; }

# external_storage_choose [NAME] [ARG...]: sets external_storage_name, _document and _arguments (the rest).
external_storage_choose() {
  external_storage_name=sample
  if [[ -n ${1-} && $1 != -* ]]; then
    external_storage_name="$1"
    shift
  fi
  external_storage_document="$external_storage_folder/$external_storage_name.yaml"
  [[ -r $external_storage_document ]] ||
    usage_error "there is no $external_storage_document; there are: $(external_storage_list | tr '\n' ' ')"
  external_storage_arguments=("$@")
}

# external_storage_suite KUBECONFIG REPORTS GINKGO-FLAG...: the suite with the chosen document.
external_storage_suite() {
  local kubeconfig="$1" reports="$2" suite focus skip
  shift 2
  suite="$(binaries_dir suite)"
  focus="$(external_storage_setting "$external_storage_document" focus)"
  skip="$(external_storage_setting "$external_storage_document" skip)"
  # The suite wants more than one node by default.
  foreground "$suite/ginkgo" run --no-color --timeout 30m --poll-progress-after 120s --focus "${focus:-External.Storage}" \
    --skip "\[Feature:|\[Disruptive\]|\[Serial\]|\[Slow\]${skip:+|$skip}" "$@" "${external_storage_arguments[@]}" "$suite/e2e.test" -- \
    --storage.testdriver="$external_storage_document" --kubeconfig="$kubeconfig" --provider=skeleton \
    --minStartupPods=0 --allowed-not-ready-nodes=-1 ${reports:+--report-dir="$reports"}
}

# external_storage_specs [NAME]: prints what would run.
external_storage_specs() {
  local log
  external_storage_choose "$@"
  binaries_ensure suite
  log="$(external_storage_suite /dev/null '' --dry-run --v 2>&1)" || die "the suite failed:"$'\n'"$(tail -n 20 <<<"$log")"
  sed -nE 's/^.*(External.Storage.*)$/\1/p' <<<"$log" | grep -v '^External.Storage$' | sort -u
  sed -nE 's/^Ran ([0-9]+) of .*/\1 specs/p' <<<"$log"
}

# external_storage [--sidecars ours|upstream] [--passed FILE] [NAME] [GINKGO-FLAG...]: runs the specs that document NAME (default sample) allows,
# and writes those that pass to FILE. Upstream's registrar is not to be had as a Go module: ours serves both.
external_storage() {
  local dir="$session_dir" driver_flags filesystem partner begun status=0
  external_storage_passed=''
  while (($# > 0)); do
    case $1 in
      --sidecars) external_storage_sidecars "${2-}" && shift 2 ;;
      --passed) external_storage_passed="${2:?--passed needs a file}" && shift 2 ;;
      *) break ;;
    esac
  done
  external_storage_choose "$@"
  [[ -z $session_external ]] || die "external-storage $smoke_node_needs"
  read -r -a driver_flags < <(external_storage_setting "$external_storage_document" driver) || true
  filesystem="$(external_storage_setting "$external_storage_document" filesystem)"
  if [[ -n $filesystem ]]; then product_filesystem="$filesystem"; fi
  begun="$(now_ms)"
  product_ensure_stack
  binaries_ensure suite
  images_ensure suite-images
  node_start "$dir"
  node_import "$dir" "$(images_dir suite-images)/debian.tar"
  product_install_driver
  product_start_node_driver "$dir" "${driver_flags[@]}"
  product_start_sidecars "$dir"
  for partner in $(external_storage_setting "$external_storage_document" partner); do
    external_storage_partner "$dir" "$partner"
  done
  say "node, driver and sidecars up in $(seconds $(($(now_ms) - begun))) s; the suite runs ($dir/logs/external-storage.log)"
  begun="$(now_ms)"
  external_storage_suite "$dir/admin.kubeconfig" "$dir/logs/suite" --procs "${E2E_PROCS:-4}" >"$dir/logs/external-storage.log" 2>&1 || status=$?
  external_storage_report "$dir" "$status" "$begun"
}

external_storage_sidecars() {
  case $1 in
    ours) unset E2E_PROVISIONER E2E_ATTACHER ;;
    upstream) E2E_PROVISIONER=upstream E2E_ATTACHER=upstream ;;
    *) usage_error "--sidecars is ours or upstream, not '$1'" ;;
  esac
}

# external_storage_compare [--times N] [NAME] [GINKGO-FLAG...]: the suite with upstream's sidecars and with ours, N times each (default 3). What
# passes with upstream must pass with ours, every time.
external_storage_compare() {
  local times=3 round side work
  if [[ ${1-} == --times ]]; then
    times="${2:?--times needs a number}"
    shift 2
  fi
  work="$(mktemp -d)"
  for ((round = 1; round <= times; round++)); do
    for side in upstream ours; do
      say "round $round of $times: $side"
      foreground "$e2e_repository/scripts/e2e" external-storage --sidecars "$side" --passed "$work/$side.$round" "$@" ||
        { rm -rf "$work" && die "the suite fails with the sidecars of $side"; }
    done
    if [[ -n $(comm -23 "$work/upstream.$round" "$work/ours.$round") ]]; then
      comm -23 "$work/upstream.$round" "$work/ours.$round" >&2
      rm -rf "$work"
      die 'these pass with upstream only'
    fi
  done
  cat "$work/ours.$times"
  echo "external-storage-compare: $(wc -l <"$work/ours.$times") specs pass with upstream's sidecars and with ours, $times times in a row"
  rm -rf "$work"
}

# Programs of others that work beside ours; with every right, since their rights are not what is tested.
external_storage_partner() {
  local dir="$1" name="$2"
  binaries_ensure upstream
  case $name in
    csi-resizer)
      supervisor_start "$dir" "$name" "$(binaries_dir upstream)/$name" --csi-address "$(product_node_socket "$dir")" \
        --kubeconfig "$dir/admin.kubeconfig" --handle-volume-inuse-error=false -v 4
      ;;
    *) die "unknown partner $name" ;;
  esac
}

# external_storage_report DIR STATUS BEGUN: how many specs ran, and which failed; dies unless all is well.
external_storage_report() {
  local dir="$1" status="$2" begun="$3" name="$external_storage_name" ran passed account
  grep -E '^(Ran [0-9]+ of|FAIL!|SUCCESS!)|\[FAIL\]' "$dir/logs/external-storage.log" | sort -u >&2 || true
  ran="$(sed -nE 's/^Ran ([0-9]+) of .*/\1/p' "$dir/logs/external-storage.log" | tail -n 1)"
  passed="$(sed -nE 's/.*-- ([0-9]+) Passed \|.*/\1/p' "$dir/logs/external-storage.log" | tail -n 1)"
  ((status == 0)) || die "external-storage $name failed (logs/external-storage.log)"
  [[ -n $ran && -n $passed ]] || die 'the suite did not say what it ran (logs/external-storage.log)'
  ((passed >= external_storage_least)) || die "only $passed specs ran; $external_storage_least is the least"
  ((passed == ran)) || die "$passed of $ran specs passed"
  wait_until 60 'nothing is left' external_storage_nothing_left "$dir" ||
    die "left: $(external_storage_left "$dir")"
  if [[ -n $external_storage_passed ]]; then
    sed -nE 's/^ *<testcase name="([^"]*)".* status="passed".*/\1/p' "$dir"/logs/suite/junit_*.xml | grep '\[It\]' | sort -u >"$external_storage_passed"
    (($(wc -l <"$external_storage_passed") == passed)) || die "the report names $(wc -l <"$external_storage_passed") specs, not $passed (logs/suite)"
  fi
  for account in csi-provisioner csi-attacher; do
    smoke_check_forbidden "$dir" "$account" || die "the manifests do not allow what $account asked for"
  done
  echo "external-storage $name: $passed specs passed in $(seconds $(($(now_ms) - begun))) s, nothing is left"
}

external_storage_left() {
  kubectl get persistentvolumes,volumeattachments -o name || echo 'kubectl failed'
  node_volumes_left "$1"
}

external_storage_nothing_left() { [[ -z $(external_storage_left "$1") ]]; }
