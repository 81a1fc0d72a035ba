# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The certificates of one throw-away cluster, and kubeconfig files. Sourced by scripts/e2e.

# certs_create DIR: a new authority, and a certificate for each part of the control plane, in DIR/pki.
certs_create() {
  local pki="$1/pki"
  mkdir -p "$pki"
  chmod 700 "$pki"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=csi-native-e2e \
    -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature \
    -keyout "$pki/ca.key" -out "$pki/ca.crt" 2>/dev/null
  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$pki/service-account.key" 2>/dev/null
  openssl pkey -in "$pki/service-account.key" -pubout -out "$pki/service-account.pub"
  certs_issue "$1" etcd /CN=etcd serverAuth,clientAuth IP:127.0.0.1,DNS:localhost
  certs_issue "$1" apiserver /CN=kube-apiserver serverAuth "IP:127.0.0.1,IP:10.0.0.1,DNS:localhost,DNS:kubernetes,$(
    join_by , DNS:kubernetes.default{,.svc,.svc.cluster.local})"
  certs_issue "$1" apiserver-etcd /CN=kube-apiserver-etcd-client clientAuth
  certs_issue "$1" apiserver-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
  certs_issue "$1" admin /O=system:masters/CN=kubernetes-admin clientAuth
  certs_issue "$1" kube-controller-manager /CN=system:kube-controller-manager clientAuth
  certs_issue "$1" kube-scheduler /CN=system:kube-scheduler clientAuth
}

# certs_issue DIR NAME SUBJECT EXTENDED-USAGE [ALTERNATIVE-NAMES]: pki/NAME.crt and pki/NAME.key, signed by the instance's authority.
certs_issue() {
  local pki="$1/pki" name="$2" subject="$3" usage="$4" names="${5-}"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject" \
    -keyout "$pki/$name.key" -out "$pki/$name.csr" 2>/dev/null
  {
    printf 'basicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\n' "$usage"
    if [[ -n $names ]]; then printf 'subjectAltName=%s\n' "$names"; fi
  } >"$pki/$name.ext"
  openssl x509 -req -in "$pki/$name.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -set_serial "0x$(openssl rand -hex 8)" -days 30 \
    -extfile "$pki/$name.ext" -out "$pki/$name.crt" 2>/dev/null
  rm "$pki/$name.csr" "$pki/$name.ext"
}

# kubeconfig_write FILE SERVER CA-LINE...: a kubeconfig whose user is read from standard input as lines `key: value`. Each CA-LINE is one
# more line of the cluster, e.g. "certificate-authority-data: ...".
kubeconfig_write() {
  local file="$1" server="$2"
  shift 2
  (
    umask 077
    {
      printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: e2e'
      printf '%s\n' 'contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]'
      printf '%s\n' 'clusters:' '- name: e2e' '  cluster:' "    server: $server"
      printf '    %s\n' "$@"
      printf '%s\n' 'users:' '- name: e2e' '  user:'
      sed 's/^/    /'
    } >"$file"
  )
}

# kubeconfig_for_certificate DIR NAME SERVER: DIR/NAME.kubeconfig for the holder of pki/NAME.crt.
kubeconfig_for_certificate() {
  local pki="$1/pki" name="$2"
  kubeconfig_write "$1/$name.kubeconfig" "$3" "certificate-authority-data: $(base64 -w 0 "$pki/ca.crt")" <<EOF
client-certificate-data: $(base64 -w 0 "$pki/$name.crt")
client-key-data: $(base64 -w 0 "$pki/$name.key")
EOF
}

# kubeconfig_for_account FILE NAMESPACE ACCOUNT: the cluster of the current KUBECONFIG, seen by a ServiceAccount with a token of one hour.
kubeconfig_for_account() {
  local server token key value lines=()
  server="$(kubectl config view --raw --minify --flatten -o jsonpath='{.clusters[0].cluster.server}')"
  for key in certificate-authority-data insecure-skip-tls-verify tls-server-name; do
    value="$(kubectl config view --raw --minify --flatten -o jsonpath="{.clusters[0].cluster.$key}")"
    if [[ -n $value ]]; then lines+=("$key: $value"); fi
  done
  token="$(kubectl create token "$3" --namespace "$2" --duration 1h)"
  kubeconfig_write "$1" "$server" "${lines[@]}" <<<"token: $token"
}
