"""The table of PodGroups has a gang's reason in full; its pods show the code, and what else there is to say."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from volcano_py.cli.simulate import simulate

MANIFESTS = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}}
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: pair}, spec: {minMember: 2}}
- &pod
  apiVersion: v1
  kind: Pod
  metadata: {name: pair-0, annotations: {scheduling.k8s.io/group-name: pair}}
  spec: {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "6"}}}]}
- {<<: *pod, metadata: {name: pair-1, annotations: {scheduling.k8s.io/group-name: pair}}}
- {<<: *pod, metadata: {name: orphan, annotations: {scheduling.k8s.io/group-name: missing}}}
"""


def test_a_sentence_of_the_podgroup_is_not_repeated_for_its_pods(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(MANIFESTS)
    result = CliRunner(env={"COLUMNS": "400"}).invoke(simulate, ["--filename", str(tmp_path)])
    assert result.exit_code == 0, result.output
    rows = {line.split("│")[1].strip(): line for line in result.output.splitlines() if line.startswith("│")}

    assert "Insufficient cpu" in rows["default/pair"]
    for pod in ("default/pair-0", "default/pair-1"):
        assert "see its PodGroup" in rows[pod]
        assert "Insufficient cpu" not in rows[pod]
    assert "PodGroup default/missing does not exist" in rows["default/orphan"], "there is no PodGroup to look at"
