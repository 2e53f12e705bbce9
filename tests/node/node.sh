#!/usr/bin/env bash
# A Kubernetes node with its control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, containerd, kubelet, kube-proxy
# (iptables), a bridge for Pods and DNS for Services. All of it lives in a network namespace of its own, oarnode, that no interface of the machine is in.
#
#   node.sh check              one line that says what is missing, and exit 1; nothing when all is there
#   node.sh prepare            installs what Debian has of it: packages, and containerd unpacked beside its configuration
#   node.sh start|stop|status  everything of one node is in the folder STATE; a fresh folder is a fresh cluster
#   node.sh run COMMAND…       a command in the namespace, with KUBECONFIG set
#
# The programs of Kubernetes and etcd are in KUBEBUILDER_ASSETS (or ~/.cache/oarlock/kubernetes/bin); beside those that setup-envtest brings
# there must be kubelet, kube-scheduler and kube-proxy. Images (docker or OCI archives) in STATE/images/*.tar are imported at the start.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/oarlock
assets=${KUBEBUILDER_ASSETS:-$cache/kubernetes/bin}
engine=$cache/node/containerd/usr/bin
state=${STATE:?the folder of this node}
namespace=oarnode
address=10.250.0.1 pods=10.244.0.0/24 services=10.96.0.0/16 node=node1 run=/run/oarnode
socket=$run/containerd.sock
export PATH=$engine:$assets:$PATH:/usr/sbin:/sbin

programs=(etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)
packages() { # what Debian has: COMMAND PACKAGE
  printf '%s\n' 'runc runc' 'iptables iptables' 'ip iproute2' 'conntrack conntrack' 'openssl openssl' 'python3 python3' 'nsenter util-linux' 'sysctl procps'
}

check() {
  local missing=() command package
  for command in "${programs[@]}"; do [ -x "$assets/$command" ] || missing+=("$assets/$command"); done
  [ "$(id -u)" = 0 ] && unshare --net --mount --pid --fork true 2>/dev/null || missing+=("the right to make namespaces and mounts (root)")
  [ -d /sys/fs/cgroup/memory ] || [ -w /sys/fs/cgroup/cgroup.subtree_control ] || missing+=("writable cgroups")
  while read -r command package; do command -v "$command" >/dev/null || missing+=("$command (apt-get install $package)"); done < <(packages)
  [ -x /usr/lib/cni/bridge ] || missing+=("/usr/lib/cni/bridge (apt-get install containernetworking-plugins)")
  [ -x "$engine/containerd" ] || missing+=("containerd ($0 prepare)")
  [ ${#missing[@]} = 0 ] || { (IFS=,; echo "missing: ${missing[*]}" | sed 's/,/, /g'); return 1; }
}

prepare() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
  local command package wanted=()
  while read -r command package; do command -v "$command" >/dev/null || wanted+=("$package"); done < <(packages)
  [ -x /usr/lib/cni/bridge ] || wanted+=(containernetworking-plugins)
  if [ ${#wanted[@]} -gt 0 ]; then
    apt-get -qq update >/dev/null 2>&1 || true
    apt-get -qq install -y --no-install-recommends "${wanted[@]}" >/dev/null 2>&1 || true
  fi
  [ -x "$engine/containerd" ] || unpack_containerd
}

# Debian's unstable has containerd 2.1, which mounts images as volumes; where it cannot be had, the stable one does for the rest. It is unpacked, not installed:
# the package would start a service.
unpack_containerd() {
  local new=$cache/node/containerd.new.$$ options=()
  mkdir -p "$new/lists/partial" "$new/archives/partial"
  if [ -f /etc/apt/sources.list.d/debian.sources ]; then
    sed 's/^Suites:.*/Suites: sid/' /etc/apt/sources.list.d/debian.sources | awk 'BEGIN{RS="";ORS="\n\n"} !/security/ {print}' >"$new/sid.sources"
    options=(-o "Dir::Etc::sourcelist=$new/sid.sources" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$new/lists" -o "Dir::Cache=$new")
  fi
  (
    cd "$new"
    { apt-get -qq "${options[@]}" update && apt-get -qq "${options[@]}" download containerd; } >/dev/null 2>&1 ||
      apt-get -qq download containerd >/dev/null 2>&1
    dpkg -x containerd_*.deb unpacked
  ) && rm -rf "$cache/node/containerd" && mv "$new/unpacked" "$cache/node/containerd"
  rm -rf "$new"
}

inside() { nsenter --net=/run/netns/$namespace "$@"; }
spawn() { # NAME COMMAND… : in the background; its log and its process id are kept
  local name=$1; shift
  setsid nsenter --net=/run/netns/$namespace "$@" >"$state/log/$name.log" 2>&1 </dev/null &
  echo $! >"$state/pid/$name"
}
alive() { [ -f "$state/pid/$1" ] && kill -0 "$(cat "$state/pid/$1")" 2>/dev/null; }
wait_for() { # SECONDS NAME COMMAND… : or the last lines of the log of NAME
  local tries=$(($1 * 4)) name=$2; shift 2
  for _ in $(seq "$tries"); do
    "$@" >/dev/null 2>&1 && return 0
    alive "$name" || break
    sleep 0.25
  done
  echo "node: $name did not get ready; the end of $state/log/$name.log:" >&2
  tail -n 15 "$state/log/$name.log" >&2
  return 1
}
kube() { inside kubectl --kubeconfig="$state/admin.kubeconfig" "$@"; }

certificates() {
  cd "$state/certs"
  openssl genrsa -out sa.key 2048; openssl rsa -in sa.key -pubout -out sa.pub
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=node-ca
  leaf() { # NAME SUBJECT EXTENSION
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2"
    printf '%s\n' "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -out "$1.crt" -days 30 -extfile "$1.ext"
  }
  leaf server /CN=kube-apiserver "subjectAltName=IP:$address,IP:127.0.0.1,IP:10.96.0.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
  leaf kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client extendedKeyUsage=clientAuth
  leaf kubelet "/O=system:nodes/CN=system:node:$node" "subjectAltName=IP:$address,DNS:$node"
}
kubeconfig() { # USER
  cat >"$state/$1.kubeconfig" <<C
apiVersion: v1
kind: Config
clusters: [{name: node, cluster: {server: "https://$address:6443", certificate-authority: $state/certs/ca.crt}}]
users: [{name: $1, user: {token: $1}}]
contexts: [{name: node, context: {cluster: node, user: $1}}]
current-context: node
C
}

network() {
  ip netns list | grep -q "^$namespace\b" || ip netns add $namespace
  ip -n $namespace link set lo up
  # A bridge without ports: an address of the node that is not loopback.
  ip -n $namespace link show oarnode0 >/dev/null 2>&1 || ip -n $namespace link add oarnode0 type bridge
  ip -n $namespace addr replace $address/32 dev oarnode0
  ip -n $namespace link set oarnode0 up
  # Services are looked for before kube-proxy leads them to Pods.
  ip -n $namespace route replace $services dev oarnode0
}

# What the kubelet and kube-proxy change of the machine, and what is put back.
kernel=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes fs.inotify.max_user_instances)

start() {
  mkdir -p "$state"/{certs,log,pid,cni,etcd,kubelet,manifests,containerd,images} $run
  network
  for key in "${kernel[@]}"; do echo "$key=$(sysctl -n "$key")"; done >"$state/sysctl.before"
  sysctl -qw fs.inotify.max_user_instances=1024
  inside sysctl -qw net.ipv4.ip_forward=1
  # Not on every machine a module of its own.
  inside sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true
  (certificates) >"$state/log/openssl.log" 2>&1
  cat >"$state/tokens.csv" <<T
admin,admin,admin,"system:masters"
kcm,system:kube-controller-manager,kcm,""
scheduler,system:kube-scheduler,scheduler,""
proxy,system:kube-proxy,proxy,""
kubelet,system:node:$node,kubelet,"system:nodes"
T
  for user in admin kcm scheduler proxy kubelet; do kubeconfig $user; done
  control_plane
  images
  worker
}

control_plane() {
  export GOMEMLIMIT=2GiB
  local certs=$state/certs etcd=http://127.0.0.1:26479 peer=http://127.0.0.1:26480
  spawn etcd etcd --data-dir "$state/etcd" --listen-client-urls $etcd --advertise-client-urls $etcd --listen-peer-urls $peer \
    --initial-advertise-peer-urls $peer --initial-cluster default=$peer --unsafe-no-fsync --log-level error
  spawn apiserver kube-apiserver --etcd-servers=$etcd --secure-port=6443 --bind-address=$address --advertise-address=$address \
    --tls-cert-file="$certs/server.crt" --tls-private-key-file="$certs/server.key" --client-ca-file="$certs/ca.crt" --token-auth-file="$state/tokens.csv" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-signing-key-file="$certs/sa.key" --service-account-key-file="$certs/sa.pub" \
    --service-cluster-ip-range=$services --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement --allow-privileged=true \
    --kubelet-client-certificate="$certs/kubelet-client.crt" --kubelet-client-key="$certs/kubelet-client.key" \
    --kubelet-certificate-authority="$certs/ca.crt" --kubelet-preferred-address-types=InternalIP --profiling=false
  wait_for 60 apiserver kube get --raw /readyz
  spawn kcm kube-controller-manager --kubeconfig="$state/kcm.kubeconfig" --authentication-kubeconfig="$state/kcm.kubeconfig" \
    --authorization-kubeconfig="$state/kcm.kubeconfig" --service-account-private-key-file="$certs/sa.key" --root-ca-file="$certs/ca.crt" --leader-elect=false \
    --bind-address=127.0.0.1 --secure-port=26457 --use-service-account-credentials=true --cluster-cidr=10.244.0.0/16 --allocate-node-cidrs=true \
    --node-cidr-mask-size=24
  spawn scheduler kube-scheduler --kubeconfig="$state/scheduler.kubeconfig" --authentication-kubeconfig="$state/scheduler.kubeconfig" \
    --authorization-kubeconfig="$state/scheduler.kubeconfig" --leader-elect=false --bind-address=127.0.0.1 --secure-port=26459
}

images() {
  cat >"$state/cni/10-bridge.conflist" <<C
{"cniVersion":"1.0.0","name":"oarnode","plugins":[{"type":"bridge","bridge":"oarcni0","isGateway":true,"ipMasq":false,"hairpinMode":true,
 "ipam":{"type":"host-local","ranges":[[{"subnet":"$pods"}]],"routes":[{"dst":"0.0.0.0/0"}],"dataDir":"$state/cni/ipam"}}]}
C
  # AppArmor and scores of the out-of-memory killer take rights that a container may lack.
  if containerd --version | grep -q ' 1\.'; then
    cat >"$state/containerd.toml" <<C
version = 2
[plugins.'io.containerd.grpc.v1.cri']
  sandbox_image = 'localhost/standin:1'
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  [plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
  [plugins.'io.containerd.grpc.v1.cri'.cni]
    bin_dir = '/usr/lib/cni'
    conf_dir = '$state/cni'
C
  else
    cat >"$state/containerd.toml" <<C
version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = 'localhost/standin:1'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['/usr/lib/cni']
    conf_dir = '$state/cni'
C
  fi
  sed -i "1a root = '$state/containerd'\nstate = '$run/containerd'" "$state/containerd.toml"
  printf "[grpc]\n  address = '%s'\n[ttrpc]\n  address = '%s.ttrpc'\n" $socket $socket >>"$state/containerd.toml"
  spawn containerd containerd --config "$state/containerd.toml"
  wait_for 20 containerd ctr -a $socket version
  for archive in "$state"/images/*.tar; do ctr -a $socket -n k8s.io images import "$archive" >/dev/null; done
}

worker() {
  # What a Pod mounts of ConfigMaps and Secrets is written when its turn comes: here every 10 s, on other nodes every minute.
  cat >"$state/kubelet.yaml" <<C
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $address
healthzBindAddress: 127.0.0.1
healthzPort: 26448
readOnlyPort: 0
tlsCertFile: $state/certs/kubelet.crt
tlsPrivateKeyFile: $state/certs/kubelet.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $state/certs/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
syncFrequency: 10s
clusterDNS: [$address]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://$socket
staticPodPath: $state/manifests
podLogsDir: $state/podlogs
imageMinimumGCAge: 240h
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi, imagefs.available: 1Gi}
maxPods: 60
C
  spawn kubelet kubelet --config="$state/kubelet.yaml" --kubeconfig="$state/kubelet.kubeconfig" --root-dir="$state/kubelet" \
    --hostname-override=$node --node-ip=$address
  wait_for 60 kubelet kube get node $node
  cat >"$state/proxy.yaml" <<C
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $state/proxy.kubeconfig}
mode: iptables
clusterCIDR: 10.244.0.0/16
hostnameOverride: $node
bindAddress: $address
healthzBindAddress: 127.0.0.1:26456
metricsBindAddress: 127.0.0.1:26449
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0}
C
  spawn proxy kube-proxy --config="$state/proxy.yaml"
  spawn dns python3 "$here/dns.py" $address "$state/admin.kubeconfig"
  wait_for 60 kubelet kube wait --for=condition=Ready node/$node --timeout=60s
  wait_for 30 kcm kube -n default get serviceaccount default
}

ours() { # NAME : a process id of a run that was cut short may be somebody else's by now
  alive "$1" && [ "$(stat -Lc %i "/proc/$(cat "$state/pid/$1")/ns/net" 2>/dev/null)" = "$(stat -Lc %i /run/netns/$namespace 2>/dev/null)" ]
}
end() { # NAME SIGNAL
  if ours "$1"; then
    local pid; pid=$(cat "$state/pid/$1")
    kill -"$2" "$pid" 2>/dev/null || true
    for _ in $(seq 40); do kill -0 "$pid" 2>/dev/null || break; sleep 0.25; done
    kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$state/pid/$1"
}

stop() {
  for name in dns proxy kubelet; do end $name TERM; done
  if ours containerd; then
    local ctr="ctr -a $socket -n k8s.io"
    # A paused container takes no signal.
    for task in $($ctr tasks ls -q); do $ctr tasks resume "$task" >/dev/null 2>&1 || true; $ctr tasks kill -s KILL "$task" >/dev/null 2>&1 || true; done
    for _ in $(seq 40); do $ctr tasks ls 2>/dev/null | grep -q RUNNING || break; sleep 0.25; done
    for task in $($ctr tasks ls -q); do $ctr tasks rm -f "$task" >/dev/null 2>&1 || true; done
    for container in $($ctr containers ls -q); do $ctr containers rm "$container" >/dev/null 2>&1 || true; done
  fi
  # Nothing of theirs is kept.
  for name in scheduler kcm apiserver etcd; do end $name KILL; done
  end containerd TERM
  # Containers' shims outlive containerd: those of its socket, by their ids.
  for process in /proc/[0-9]*; do
    { tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null | grep -q "containerd-shim-runc-v2 .*-address $socket" && kill "${process#/proc/}" 2>/dev/null || true
  done
  { grep -E " ($state/|$run/)" /proc/mounts || true; } | awk '{print $2}' | sort -r | while read -r mount; do umount "$mount" 2>/dev/null || umount -l "$mount" || true; done
  # Those of Pods, by their addresses: other engines give theirs such names, too. The node's firewall ends with its namespace.
  for pod in $(ip netns list | awk '/^cni-/{print $1}'); do
    if ip -n "$pod" -4 address show 2>/dev/null | grep -q "inet ${pods%.*}\."; then ip netns delete "$pod" 2>/dev/null || true; fi
  done
  ip netns delete $namespace 2>/dev/null || true
  for group in /sys/fs/cgroup/kubepods /sys/fs/cgroup/*/kubepods; do [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true; done
  rm -rf $run
  [ ! -f "$state/sysctl.before" ] || sysctl -qp "$state/sysctl.before" 2>/dev/null || true
  rm -f "$state/sysctl.before"
}

status() { for name in etcd apiserver kcm scheduler containerd kubelet proxy dns; do alive $name && echo "$name $(cat "$state/pid/$name")" || echo "$name -"; done; }

command=${1:?check, prepare, start, stop, status or run}; shift
case $command in
  run) KUBECONFIG=$state/admin.kubeconfig inside "$@" ;;
  check | prepare | start | stop | status) "$command" ;;
  *) echo "node: there is no $command" >&2; exit 2 ;;
esac
