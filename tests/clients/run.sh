#!/usr/bin/env bash
# The end-to-end tests of kopf and kr8s, as their packages on PyPI bring them, those of the JavaScript and the official Python client, and those of
# controller-runtime, on the embedded API server and on a real control plane where its programs are (control-plane.sh). Prints a line for each run,
# and the tests that pass on the real one alone. Minutes: most tests that fail wait for Pods that run.
#
#   run.sh [SUITE…]      kopf, kr8s, client-node, python, controller-runtime [default: those whose tests are there]
#
# PYTHON is a Python with the packages of suites.txt; OARLOCK_BIN is the program. CLIENT_NODE is a checkout of
# github.com/kubernetes-client/javascript, for its tests; without it, git clones one. PYTHON_CLIENT is a checkout of
# github.com/kubernetes-client/python: python needs it. CONTROLLER_RUNTIME is a checkout of github.com/kubernetes-sigs/controller-runtime:
# controller-runtime needs it, and Go (on PATH, or in GO), which fetches its modules; PACKAGES are packages of it. kubectl and openssl are on PATH,
# and for client-node npm.
# LOGS is a folder for the logs of the suites and servers; without it they are deleted.
set -euo pipefail
fail() { printf '%s\n' "$*" >&2; exit 1; }
absolute() { case $1 in */*) printf '%s/%s\n' "$(cd "$(dirname "$1")" && pwd)" "$(basename "$1")" ;; *) command -v "$1" ;; esac; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$(absolute "${PYTHON:-python3}")
oarlock=$(absolute "${OARLOCK_BIN:-$root/target/debug/oarlock}")
checkout=${CLIENT_NODE:+$(cd "$CLIENT_NODE" && pwd)}
python_client=${PYTHON_CLIENT:+$(cd "$PYTHON_CLIENT" && pwd)}
runtime=${CONTROLLER_RUNTIME:+$(cd "$CONTROLLER_RUNTIME" && pwd)}
logs=${LOGS:+$(mkdir -p "$LOGS" && cd "$LOGS" && pwd)}
cd "$root"
here=$PWD/tests/clients plane=$PWD/tests/kubernetes/control-plane.sh
for program in kubectl openssl; do command -v "$program" >/dev/null || fail "$program is needed"; done
work=$(mktemp -d "${TMPDIR:-/tmp}/oarlock-clients-XXXXXX")
export TMPDIR=$work/tmp; mkdir "$TMPDIR"   # suites leave files there
stop() {
  [ -z "${server-}" ] || kill "$server" 2>/dev/null || true
  $plane stop "$work/plane"
  [ -z "$logs" ] || cp "$work"/*.log "$work"/*.passed "$work"/*.errors "$logs" 2>/dev/null || true
}
trap 'stop; rm -rf "$work"' EXIT

# HTTPS, as the real one: kopf asks the server for its certificate, and kr8s wants a user with credentials.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/tls.key" -out "$work/tls.crt" -days 30 -subj /CN=oarlock \
  -addext subjectAltName=IP:127.0.0.1,DNS:localhost 2>/dev/null
"$oarlock" apiserver --port 0 --kubeconfig-out "$work/embedded.kubeconfig" --tls-cert-file "$work/tls.crt" --tls-private-key-file "$work/tls.key" \
  >"$work/url" 2>"$work/apiserver.log" & server=$!
until [ -s "$work/url" ]; do kill -0 "$server" || { cat "$work/apiserver.log" >&2; exit 1; }; sleep 0.1; done
clusters=(embedded)
if $plane check >/dev/null; then
  $plane start "$work/plane" >/dev/null
  # With the certificates in it: kr8s reads certificate-authority-data.
  kubectl --kubeconfig "$work/plane/admin.kubeconfig" config view --raw --flatten >"$work/real.kubeconfig"
  clusters+=(real)
fi

# Some tests expect that a cluster has Pods.
for cluster in "${clusters[@]}"; do
  kubectl --kubeconfig "$work/$cluster.kubeconfig" run any --image any >/dev/null
done

suite() { # NAME VERSION CLUSTER ARGUMENTS…
  local name=$1 version=$2 cluster=$3; shift 3
  [ -d "$work/$name-$version" ] || {
    "$python" -m pip download --quiet --no-deps --no-binary :all: --dest "$work" "$name==$version"
    tar -xzf "$work/$name-$version.tar.gz" -C "$work"
  }
  tests "$name" "$version" "$cluster" "$@"
}

# Runs the tests in the folder NAME-VERSION.
tests() { # NAME VERSION CLUSTER ARGUMENTS…
  local name=$1 version=$2 cluster=$3 home=$work/home-$1-$3 rc=0; shift 3
  mkdir -p "$home/.kube"
  cp "$work/$cluster.kubeconfig" "$home/.kube/config"
  (cd "$work/$name-$version" && PATH=$(dirname "$(command -v "$python")"):$PATH HOME=$home KUBECONFIG=$home/.kube/config CLUSTER_KUBECONFIG=$home/.kube/config PYTHONPATH=$here/stand_ins:$work/fixed \
    "$python" -m pytest -q -rA -p no:cacheprovider -p no:unraisableexception -p no:pytest-kind -p pytest_kind.plugin --tb=short "$@") \
    >"$work/$name-$cluster.log" 2>&1 || rc=$?
  # 1: some tests failed. Everything else: they did not run.
  [ "$rc" -le 1 ] && grep -q '^PASSED ' "$work/$name-$cluster.log" || { tail -n 20 "$work/$name-$cluster.log" >&2; fail "$name does not run: is $here/suites.txt installed for $python?"; }
  sed -n 's/^PASSED //p' "$work/$name-$cluster.log" | sort -u >"$work/$name-$cluster.passed"
  printf '%s %s, %s: %s\n' "$name" "$version" "$cluster" "$(tail -n 1 "$work/$name-$cluster.log")"
}

# The tests are not in the package on npm. They lie where they find its modules.
client_node() { # VERSION CLUSTER
  local version=$1 cluster=$2 client=$work/client-node
  [ -d "$client" ] || {
    [ -n "$checkout" ] || checkout=$work/javascript
    [ -d "$checkout" ] || git clone --quiet --depth 1 https://github.com/kubernetes-client/javascript "$checkout"
    mkdir "$client"
    (cd "$client" && echo '{"type": "module"}' >package.json && npm install --silent --no-audit --no-fund "@kubernetes/client-node@$version" tsx@4)
    mkdir -p "$client/node_modules/@kubernetes/client-node/dist/test"
    cp -r "$checkout/src/test/integration" "$client/node_modules/@kubernetes/client-node/dist/test"
  }
  (cd "$client/node_modules/@kubernetes/client-node/dist/test/integration" && for test in *.ts; do
    case $test in index.ts | name.ts | helpers.ts) continue ;; esac
    KUBECONFIG=$work/$cluster.kubeconfig timeout 120 "$client/node_modules/.bin/tsx" \
      --eval "import('./$test').then((module) => module.default()).then(() => process.exit(0), (e) => { console.error(e); process.exit(1); })" \
      </dev/null >&2 && echo "PASSED ${test%.ts}" || echo "FAILED ${test%.ts}"
  done) >"$work/client-node-$cluster.log" 2>"$work/client-node-$cluster.errors"
  sed -n 's/^PASSED //p' "$work/client-node-$cluster.log" | sort -u >"$work/client-node-$cluster.passed"
  printf 'client-node %s, %s: %s\n' "$version" "$cluster" "$(paste -sd ' ' "$work/client-node-$cluster.log")"
}

# The tests are not in the package on PyPI. They lie in a copy of it.
python_tests() { # CLUSTER
  local version package
  package=$("$python" -c 'import kubernetes, os; print(os.path.dirname(kubernetes.__file__))' 2>/dev/null) || fail "python: $python has no package kubernetes"
  version=$("$python" -c 'import kubernetes; print(kubernetes.__version__)')
  [ -d "$work/python-$version" ] || {
    mkdir "$work/python-$version"
    cp -r "$package" "$work/python-$version/kubernetes"
    cp -r "$python_client/kubernetes/e2e_test" "$work/python-$version/kubernetes"
  }
  # These run programs in Pods.
  tests python "$version" "$1" --timeout 120 kubernetes/e2e_test \
    -k 'not (TestClient and (test_pod_apis or test_pod_exec or test_exit_code or test_portforward))'
}

# The packages whose tests start an API server. Those of client/apiutil fetch programs of another version. Built once, and without the time.
controller_runtime() { # CLUSTER
  local cluster=$1 log=$work/controller-runtime-$1 built=$work/controller-runtime packages package name assets began
  packages=${PACKAGES:-$(cd "$runtime" && grep -rlwE --include='*_test.go' 'envtest|controlplane' pkg | xargs -n 1 dirname | sort -u | grep -vx pkg/client/apiutil)}
  [ -d "$built" ] || {
    mkdir "$built"
    for package in $packages; do
      (cd "$runtime" && "$go" test -c -o "$built/${package//\//-}" "./$package") || fail "controller-runtime: $package does not compile"
    done
  }
  case $cluster in
    embedded) assets=$work/assets; "$oarlock" apiserver envtest "$assets" >/dev/null ;;
    real) assets=$($plane check) ;;
  esac
  began=$SECONDS
  for package in $packages; do
    name=$TMPDIR/${package//\//-}-$cluster
    # Not the user's own cluster, whatever is set.
    (cd "$runtime/$package" && env -u USE_EXISTING_CLUSTER KUBEBUILDER_ASSETS="$assets" "$built/${package//\//-}" -test.v -ginkgo.no-color -ginkgo.seed 1 \
      -ginkgo.timeout 20m -ginkgo.junit-report "$name.xml") >"$name.out" 2>&1 </dev/null || true
    cat "$name.out" >>"$log.errors"
    [ -f "$name.xml" ] || { tail -n 20 "$name.out" >&2; fail "controller-runtime: $package does not run on the $cluster server"; }
    "$python" -I "$here/ginkgo.py" "$package" "$name.xml" "$name.out" >>"$log.log"
  done
  sed -n 's/^PASSED //p' "$log.log" | sort >"$log.passed"
  printf 'controller-runtime %s, %s: %s packages, %s of %s in %s s\n' "$(git -C "$runtime" describe --tags --always --match "v*")" "$cluster" "$(wc -w <<<"$packages")" \
    "$(wc -l <"$log.passed")" "$(grep -vc '^SKIPPED ' "$log.log")" "$((SECONDS - began))"
}

# oscrypto 1.3.0 does not read the versions of OpenSSL whose last number has two digits (3.0.19); its repository does.
if oscrypto=$("$python" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("oscrypto").origin))' 2>/dev/null); then
  mkdir "$work/fixed"
  cp -r "$oscrypto" "$work/fixed"
  # shellcheck disable=SC1003
  sed -i.bak 's/\\\\d\[a-z\]/\\\\d+[a-z]/' "$work"/fixed/oscrypto/_openssl/_libcrypto_c*.py
fi

[ $# -gt 0 ] || set -- kopf kr8s client-node ${python_client:+python} ${runtime:+controller-runtime}
for name; do
  [ "$name" != python ] || [ -d "$python_client/kubernetes/e2e_test" ] \
    || fail "python: PYTHON_CLIENT must name a checkout of github.com/kubernetes-client/python, for its kubernetes/e2e_test"
  [ "$name" != controller-runtime ] || {
    [ -d "$runtime/pkg/envtest" ] || fail "controller-runtime: CONTROLLER_RUNTIME must name a checkout of github.com/kubernetes-sigs/controller-runtime"
    go=$(absolute "${GO:-go}") && [ -x "$go" ] || fail "controller-runtime: install Go, or name it in GO"
  }
  for cluster in "${clusters[@]}"; do
    case $name in
      # kopf makes errors of warnings, and a test reads its output: a connection that Python closes late would be a traceback there.
      kopf) suite kopf 1.45.2 "$cluster" --timeout 60 -W ignore::ResourceWarning --only-e2e tests/e2e ;;
      kr8s) suite kr8s 0.20.15 "$cluster" --timeout 12 kr8s ;;
      client-node) client_node 1.4.0 "$cluster" ;;
      python) python_tests "$cluster" ;;
      controller-runtime) controller_runtime "$cluster" ;;
      *) echo "no suite $name: kopf, kr8s, client-node, python, controller-runtime" >&2; exit 2 ;;
    esac
  done
  [ ! -f "$work/$name-real.passed" ] || comm -13 "$work/$name-embedded.passed" "$work/$name-real.passed" | sed 's/^/  real alone: /'
done
