#!/usr/bin/env bash
# A real Kubernetes control plane on loopback, for tests: etcd, kube-apiserver (RBAC, TLS, tokens) and, where the folder of
# programs has one, kube-controller-manager. There is no kubelet: Pods stay Pending.
#
#   control-plane.sh check             whether the programs are there, and of the right version; prints their folder
#   control-plane.sh start FOLDER      state, logs and admin.kubeconfig go to FOLDER; waits until the API server is ready
#   control-plane.sh kill FOLDER NAME  SIGKILL for one of etcd, apiserver, controllers
#   control-plane.sh run FOLDER NAME   starts that one again, and waits until it is ready
#   control-plane.sh stop FOLDER       ends all of them and waits for their end
#
# KUBEBUILDER_ASSETS names the folder of the programs, as `setup-envtest use 1.36 -p path` prints it.
# CONTROLLERS=no leaves kube-controller-manager out. APISERVER_FLAGS has further flags of kube-apiserver, ETCD_FLAGS of etcd.
# The administrator's token is `admin`.
set -euo pipefail
version=1.36
bin=${KUBEBUILDER_ASSETS:-${XDG_CACHE_HOME:-$HOME/.cache}/oarlock/kubernetes/bin}
fail() { printf '%s\n' "$*" >&2; exit 1; }

check() {
  [ -n "${KUBEBUILDER_ASSETS-}" ] || [ -d "$bin" ] ||
    fail "KUBEBUILDER_ASSETS is not set: export KUBEBUILDER_ASSETS=\$(setup-envtest use $version -p path)"
  local program found
  for program in etcd kube-apiserver kubectl; do
    [ -x "$bin/$program" ] || fail "$bin has no $program: export KUBEBUILDER_ASSETS=\$(setup-envtest use $version -p path)"
  done
  found=$("$bin/kube-apiserver" --version) || fail "$bin/kube-apiserver does not run"
  case $found in
    "Kubernetes v$version."*) ;;
    *) fail "$bin/kube-apiserver is $found, and v$version is needed: export KUBEBUILDER_ASSETS=\$(setup-envtest use $version -p path)" ;;
  esac
  command -v openssl >/dev/null || fail "openssl is needed, for the certificates of the control plane"
  echo "$bin"
}

# Ports below those that the system hands out, so that nobody else is given one between the choice and the first connection.
ports() {
  python3 - <<'P'
import random, socket
found = []
while len(found) < 4:
    port = random.randrange(10000, 32000)
    with socket.socket() as s:
        try: s.bind(("127.0.0.1", port))
        except OSError: continue
    if port not in found: found.append(port)
print(*found)
P
}

certificates() {
  openssl ecparam -name prime256v1 -genkey -noout -out certs/sa.key
  openssl ec -in certs/sa.key -pubout -out certs/sa.pub
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout certs/ca.key -out certs/ca.crt -days 30 -subj /CN=test-ca
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout certs/server.key -out certs/server.csr -subj /CN=kube-apiserver
  printf 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc\n' >certs/names
  openssl x509 -req -in certs/server.csr -CA certs/ca.crt -CAkey certs/ca.key -CAcreateserial -out certs/server.crt -days 30 -extfile certs/names
}

kubeconfig() { # USER
  cat >"$1.kubeconfig" <<C
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$apiserver", certificate-authority: $folder/certs/ca.crt}}]
users: [{name: $1, user: {token: $1}}]
contexts: [{name: test, context: {cluster: test, user: $1}}]
current-context: test
C
}

alive() { [ -f "$1.pid" ] && kill -0 "$(cat "$1.pid")" 2>/dev/null; }

launch() { # NAME COMMAND…: in the background; its pid and log are kept
  local name=$1; shift
  "$@" >>"$name.log" 2>&1 </dev/null &
  echo $! >"$name.pid"
}

run() { # NAME
  alive "$1" && return 0
  case $1 in
    etcd) # shellcheck disable=SC2086
      launch etcd "$bin/etcd" --data-dir etcd --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
        --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
        --initial-cluster "default=http://127.0.0.1:$peer" --unsafe-no-fsync --log-level error ${ETCD_FLAGS-} ;;
    apiserver) # shellcheck disable=SC2086
      GOGC=200 GOMEMLIMIT=2GiB launch apiserver "$bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd" --secure-port="$apiserver" \
        --bind-address=127.0.0.1 --tls-cert-file=certs/server.crt --tls-private-key-file=certs/server.key --client-ca-file=certs/ca.crt \
        --token-auth-file=tokens.csv --service-account-issuer=https://kubernetes.default.svc \
        --service-account-signing-key-file=certs/sa.key --service-account-key-file=certs/sa.pub --service-cluster-ip-range=10.96.0.0/16 \
        --authorization-mode=Node,RBAC --advertise-address=127.0.0.1 --endpoint-reconciler-type=none --profiling=false ${APISERVER_FLAGS-}
      ready ;;
    controllers)
      launch controllers "$bin/kube-controller-manager" --kubeconfig=controllers.kubeconfig --authentication-kubeconfig=controllers.kubeconfig \
        --authorization-kubeconfig=controllers.kubeconfig --service-account-private-key-file=certs/sa.key --root-ca-file=certs/ca.crt \
        --leader-elect=false --bind-address=127.0.0.1 --secure-port="$controllers" ;;
    *) fail "no program '$1': etcd, apiserver or controllers" ;;
  esac
}

get() { "$bin/kubectl" --kubeconfig admin.kubeconfig --request-timeout 5s get --raw "$1" 2>/dev/null; }

# give_up MESSAGE: after the last lines of the logs; nothing is left running.
give_up() { tail -n 5 ./*.log >&2; stop; fail "$1; the logs are in $folder"; }

ready() {
  for _ in $(seq 480); do
    [ "$(get /readyz || true)" != ok ] || return 0
    alive apiserver || give_up "kube-apiserver ended"
    alive etcd || give_up "etcd ended"
    sleep 0.25
  done
  give_up "kube-apiserver is not ready after two minutes"
}

start() {
  check >/dev/null
  ! alive apiserver || fail "$folder: a control plane runs there"
  mkdir -p certs
  if [ ! -f ports ]; then
    ports >ports
    certificates >certs/openssl.log 2>&1 || { cat certs/openssl.log >&2; fail "openssl cannot make certificates"; }
    printf 'admin,admin,admin,"system:masters"\ncontrollers,controllers,controllers,"system:masters"\n' >tokens.csv
  fi
  load
  kubeconfig admin; kubeconfig controllers
  rm -rf etcd
  run etcd
  run apiserver
  if [ "${CONTROLLERS-yes}" != no ] && [ -x "$bin/kube-controller-manager" ]; then
    run controllers
    # The last thing to come: Pods need it.
    local left=240
    until get /api/v1/namespaces/default/serviceaccounts/default >/dev/null; do
      alive controllers || give_up "kube-controller-manager ended"
      [ $((left -= 1)) -gt 0 ] || give_up "kube-controller-manager made no ServiceAccount within a minute"
      sleep 0.25
    done
  fi
  echo "export KUBECONFIG=$folder/admin.kubeconfig"
}

load() { read -r apiserver etcd peer controllers <ports || fail "$folder: no control plane was started there"; }

end() { # NAME SIGNAL
  [ -f "$1.pid" ] || return 0
  local pid; pid=$(cat "$1.pid")
  kill "-$2" "$pid" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null || true
  rm -f "$1.pid"
}

# Nothing in it outlives a test: there is nothing to save.
stop() { end controllers KILL; end apiserver KILL; end etcd KILL; }

case ${1-} in
  check) check; exit ;;
  start | kill | run | stop) ;;
  *) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
folder=${2:?the folder of the control plane}
[ "$1" != start ] || mkdir -p "$folder"
[ -d "$folder" ] || exit 0
cd "$folder"; folder=$PWD
case $1 in
  start) start ;;
  stop) stop ;;
  kill) end "${3:?a program}" KILL ;;
  run) load; run "${3:?a program}" ;;
esac
