# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Builds Kubernetes and the upstream sidecars from Go modules into a cache in the home folder. Sourced by scripts/e2e.

readonly cluster_source="$e2e_repository/test/cluster"
readonly cluster_cache="${CSI_NATIVE_CACHE:-${HOME:?HOME is not set}/.cache/csi-native}/cluster"
readonly kubernetes_version=1.36.3
# Without it the programs call themselves v0.0.0.
readonly kubernetes_ldflags="-s -w -X k8s.io/component-base/version.gitVersion=v$kubernetes_version"

# Go's settings for these builds: the modules say everything, nothing of the caller's set-up does.
go_build() {
  env CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off GOTOOLCHAIN=local nice go "$@"
}

need_go() {
  local version
  command -v go >/dev/null || die "missing: Go 1.26 or newer (https://go.dev/dl; Debian 12's golang-go is too old)"
  version="$(cd / && GOTOOLCHAIN=local go env GOVERSION)"
  [[ $version =~ ^go([0-9]+)\.([0-9]+) ]] || die "cannot read the version of $(command -v go): '$version'"
  ((BASH_REMATCH[1] > 1 || BASH_REMATCH[2] >= 26)) || die "$(command -v go) is $version; 1.26 or newer is needed"
}

# binaries_module kubernetes|upstream|suite|client-go-informer: the folder of its Go module.
binaries_module() {
  case $1 in
    suite) printf '%s/kubernetes' "$cluster_source" ;;
    client-go-informer) printf '%s/test/bench/client_go_informer' "$e2e_repository" ;;
    *) printf '%s/%s' "$cluster_source" "$1" ;;
  esac
}

# binaries_dir kubernetes|upstream|suite|client-go-informer: the folder of the built programs. Its name holds the versions, and a digest of
# everything that decides about the result.
binaries_dir() {
  local name="$1-$kubernetes_version" digest
  case $1 in
    upstream | client-go-informer) name="$1" ;;
  esac
  digest="$(cd "$(binaries_module "$1")" && find . -name '*.go' -o -name go.mod -o -name go.sum | sort | xargs cat | sha256sum)"
  printf '%s/%s-%s' "$cluster_cache" "$name" "${digest:0:12}"
}

# The builds; each puts its programs into folder $1, is run in its module's folder, and ends at the first failure by itself.
build_kubernetes() {
  local name
  go_build build -trimpath -ldflags "$kubernetes_ldflags" -o "$1/kubernetes" . || return
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
    ln -s kubernetes "$1/$name" || return
  done
}

build_upstream() { go_build build -trimpath -ldflags '-s -w' -o "$1/" tool; }

build_suite() {
  go_build test -c -vet=off -tags tools -trimpath -ldflags "$kubernetes_ldflags" -o "$1/e2e.test" k8s.io/kubernetes/test/e2e &&
    go_build build -tags tools -trimpath -ldflags "-s -w" -o "$1/ginkgo" github.com/onsi/ginkgo/v2/ginkgo &&
    go_build build -tags tools -trimpath -ldflags "-s -w" -o "$1/agnhost" k8s.io/kubernetes/test/images/agnhost
}

build_client-go-informer() { go_build build -trimpath -ldflags '-s -w' -o "$1/client-go-informer" .; }

# binaries_ensure kubernetes|upstream|suite|client-go-informer: builds what is not in the cache yet.
binaries_ensure() {
  local what="$1" dir
  dir="$(binaries_dir "$what")"
  [[ ! -d $dir ]] || return 0
  need_go
  (cd "$(binaries_module "$what")" && cache_fill "$dir" "build_$what" "$what")
}

# cache_fill DIR FUNCTION DESCRIPTION: makes folder DIR of the cache by calling the function with the folder to fill. Several may call it at
# once: one builds, the others wait for it; a folder appears in the cache only when it is complete.
cache_fill() {
  local dir="$1" function="$2" what="$3" lock started
  need flock util-linux
  mkdir -p "$cluster_cache"
  exec {lock}>"$dir.lock"
  flock --nonblock "$lock" || say "waiting for another build of $what"
  flock "$lock"
  if [[ ! -d $dir ]]; then
    say "building $what into $dir (once)"
    started="$(now_ms)"
    rm -rf "$dir.partial"
    mkdir "$dir.partial"
    if ! "$function" "$dir.partial"; then
      rm -rf "$dir.partial"
      die "building $what failed"
    fi
    mv "$dir.partial" "$dir"
    say "built $what in $(seconds $(($(now_ms) - started))) s"
  fi
  exec {lock}>&-
}
