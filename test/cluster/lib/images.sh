# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The images of pods, made from Debian packages and our own sources, as archives that containerd imports. No registry is asked. Sourced by
# scripts/e2e.

readonly images_pause=csi-native.local/pause:1
readonly images_busybox=csi-native.local/busybox:1

# What Kubernetes' end-to-end suite calls the images that it runs; these are the tags of kubernetes_version.
readonly images_suite_registry=registry.k8s.io/e2e-test-images
readonly images_suite_busybox="$images_suite_registry/busybox:1.37.0-1"
readonly images_suite_debian=("$images_suite_registry/agnhost:2.63.0" "$images_suite_registry/nginx:1.15-4")
readonly images_suite_packages=util-linux,curl,e2fsprogs,xfsprogs

# images_dir images|suite-images: the folder with the archives; its name holds a digest of what decides about them.
images_dir() {
  local digest
  digest="$(cd "$cluster_source" && cat images/* lib/images.sh | sha256sum)"
  case $1 in
    images) printf '%s/images-%s' "$cluster_cache" "${digest:0:12}" ;;
    # agnhost is inside.
    suite-images) printf '%s/suite-images-%s-%s' "$cluster_cache" "$(binaries_dir suite | sha256sum | cut -c -8)" "${digest:0:12}" ;;
  esac
}

# images_ensure images|suite-images: makes what is not in the cache yet.
images_ensure() {
  local dir
  dir="$(images_dir "$1")"
  [[ ! -d $dir ]] || return 0
  case $1 in
    images) need gcc gcc busybox busybox-static ;;
    suite-images)
      need_root 'the image of the end-to-end suite' 'debootstrap makes it'
      need debootstrap debootstrap unshare util-linux
      binaries_ensure suite
      ;;
  esac
  cache_fill "$dir" "build_${1/-/_}" "$1"
}

# images.tar: the sandbox's image and busybox. pause: the program itself.
build_images() {
  local work="$1/work" busybox
  busybox="$(command -v busybox)"
  mkdir -p "$work"/{pause,busybox/bin,busybox/tmp,busybox/etc} || return
  gcc -static -Os -Wall -Wextra -Werror -o "$1/pause" "$cluster_source/images/pause.c" || return
  strip "$1/pause" || return
  cp "$1/pause" "$work/pause/pause" || return
  cp "$busybox" "$work/busybox/bin/busybox" || return
  images_busybox_links "$work/busybox/bin" || return
  printf 'root:x:0:0:root:/:/bin/sh\n' >"$work/busybox/etc/passwd"
  chmod 1777 "$work/busybox/tmp"
  images_archive "$work/pause" "$1/pause.tar" '"Entrypoint":["/pause"]' "$images_pause" &&
    images_archive "$work/busybox" "$1/busybox.tar" '"Cmd":["/bin/sh"]' "$images_busybox" "$images_suite_busybox" &&
    rm -rf "$work"
}

# A link for each of busybox's programs.
images_busybox_links() {
  local name
  [[ $("$1/busybox" --list | wc -l) -gt 100 ]] || return
  for name in $("$1/busybox" --list); do
    [[ $name == busybox ]] || ln -s busybox "$1/$name" || return
  done
}

# debian.tar: what the suite's pods need, and agnhost. Unpacked in memory: dpkg synchronises every file, which takes minutes on a slow disk.
build_suite_images() {
  # shellcheck disable=SC2016  # expanded inside
  unshare --mount --propagation private bash -euc "$(declare -f images_debian images_archive join_by)"'
    mkdir "$1/work"
    mount -t tmpfs tmpfs "$1/work"
    images_debian "$@"' images "$1" "$(binaries_dir suite)/agnhost" "$images_suite_packages" "${images_suite_debian[@]}" || return
  rmdir "$1/work"
}

# images_debian DIR AGNHOST PACKAGES TAG...
images_debian() {
  local dir="$1" root="$1/work/root" agnhost="$2" packages="$3"
  shift 3
  debootstrap --variant=minbase --include="$packages" bookworm "$root" >"$dir/work/log" 2>&1 || {
    tail -n 5 "$dir/work/log" >&2
    return 1
  }
  # Nothing in a pod needs a package list, a manual or a message catalogue.
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/* "$root"/var/log/*
  find "$root/dev" -mindepth 1 -delete
  cp "$agnhost" "$root/agnhost"
  images_archive "$root" "$dir/debian.tar" '"Entrypoint":["/agnhost"],"Cmd":["pause"]' "$@"
}

# images_archive ROOT FILE CONFIGURATION TAG...: the folder as an image of one layer, in the format of `docker save`.
images_archive() {
  local root="$1" file="$2" configuration="$3" parts="$2.parts" digest architecture
  shift 3
  architecture="$(dpkg --print-architecture)"
  mkdir -p "$parts" || return
  # The same bytes every time.
  tar --create --sort=name --numeric-owner --owner=0 --group=0 --mtime=@0 --one-file-system \
    --file "$parts/layer.tar" --directory "$root" . || return
  digest="$(sha256sum "$parts/layer.tar")"
  cat >"$parts/config.json" <<JSON
{"architecture":"$architecture","os":"linux","created":"1970-01-01T00:00:00Z",
 "config":{"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],$configuration},
 "rootfs":{"type":"layers","diff_ids":["sha256:${digest%% *}"]}}
JSON
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]\n' "$(join_by '","' "$@")" >"$parts/manifest.json"
  tar --create --file "$file" --directory "$parts" manifest.json config.json layer.tar && rm -rf "$parts"
}
