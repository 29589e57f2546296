#!/usr/bin/env bash
# Builds the image, runs it on a throw-away kind cluster from the shipped manifests, sees it schedule a gang, and then
# runs the e2e suite against that cluster. The suite starts daemons of its own, from this checkout and with the rights of
# the shipped manifests, so the Deployment is scaled to zero before: they would wait for its Lease. The cluster is deleted
# at the end, whatever the end was.
#
#   KIND_NODE_IMAGE=kindest/node:…   Kubernetes version of the cluster (default: kind's own; 1.34 or later)
#   KEEP_CLUSTER=1                   leave the cluster and its kubeconfig for a look
#   PYTHON=…                         interpreter with the project's dev dependencies (default: .venv/bin/python)
#
# Arguments go to pytest: e2e/kind/run.sh -k gang
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
python=${PYTHON:-$project/.venv/bin/python}
image=volcano-py:e2e
cluster=volcano-py-e2e-$$

fail() {
    echo "e2e-kind: $*" >&2
    exit 2
}

for tool in docker kind kubectl; do
    command -v "$tool" >/dev/null ||
        fail "$tool is not installed, and this suite needs it; 'make test' runs the same e2e tests on a local control plane without it"
done
docker info >/dev/null 2>&1 ||
    fail "docker is installed, but no daemon answers (docker info); start it, or use 'make test', which needs none"
[[ -x $python ]] || fail "no Python at $python; 'make test' creates the virtual environment, or set PYTHON"

work=$(mktemp -d)
export KUBECONFIG=$work/kubeconfig

explain() {
    echo "e2e-kind: failed; the state of the installation:" >&2
    kubectl --namespace volcano-system get pods,events --output wide >&2 || true
    kubectl --namespace default get queues,podgroups,pods,events --output wide >&2 || true
    kubectl --namespace volcano-system logs --selector app.kubernetes.io/name=volcano-py --tail 200 --prefix >&2 || true
}

finish() {
    status=$?
    trap - EXIT
    if ((status != 0)) && [[ -s $KUBECONFIG ]]; then
        explain
    fi
    if [[ -n ${KEEP_CLUSTER:-} ]]; then
        echo "e2e-kind: kept: export KUBECONFIG=$KUBECONFIG; remove: kind delete cluster --name $cluster" >&2
    else
        kind delete cluster --name "$cluster" || true
        rm -rf "$work"
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

docker build --tag "$image" "$project"
kind create cluster --name "$cluster" --config "$here/cluster.yaml" --wait 180s \
    ${KIND_NODE_IMAGE:+--image "$KIND_NODE_IMAGE"}
kind load docker-image "$image" --name "$cluster"
kubectl apply --kustomize "$here"
kubectl wait --for condition=Established --timeout 60s \
    crd/queues.scheduling.volcano.sh crd/podgroups.scheduling.volcano.sh
kubectl --namespace volcano-system rollout status deployment/volcano-py --timeout 180s

echo "e2e-kind: a gang of three, scheduled by the image"
kubectl apply --filename "$here/gang.yaml"
kubectl wait --for condition=Ready --timeout 120s pod --selector app=smoke
kubectl wait --for 'jsonpath={.status.phase}=Running' --timeout 30s podgroup/smoke
kubectl delete --filename "$here/gang.yaml" --wait

kubectl --namespace volcano-system scale deployment/volcano-py --replicas 0
kubectl --namespace volcano-system wait --for delete --timeout 60s pod --selector app.kubernetes.io/name=volcano-py

cd "$project"
E2E_KUBECONFIG=$KUBECONFIG "$python" -m pytest e2e "$@"
