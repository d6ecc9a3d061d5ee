"""The manifests for Kubernetes: they render, their commands exist, their parts fit together, and their job files are
valid. `e2e/test_kubernetes_schemas.py` compares them with the schemas of Kubernetes. No cluster is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatunnel_py import app
from seatunnel_py.errors import ExitCode
from tests.schedulers.command_lines import require_command

FOLDER = Path(__file__).parents[2] / "schedulers" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))
CONTAINERFILE = FOLDER.parent / "container" / "Containerfile"
SECRETS = {"SHOP_PASSWORD": "a", "WAREHOUSE_PASSWORD": "b"}
GIVEN = {"secret": {"seatunnel-tls", "seatunnel-secrets"}}
"""Objects that the user makes: the page names the commands."""


def objects() -> list[tuple[str, dict[str, Any]]]:
    """All objects, with the file of each."""
    return [(file.name, one) for file in FILES for one in yaml.safe_load_all(file.read_text())]


def pod_of(one: dict[str, Any]) -> dict[str, Any] | None:
    """The pod of a workload; None: it has none."""
    spec = one.get("spec", {})
    spec = spec.get("jobTemplate", {}).get("spec", spec)
    return spec.get("template", {}).get("spec")


def workloads() -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Each workload with its pod and its only container."""
    found = [(one, pod) for _, one in objects() if (pod := pod_of(one)) is not None]
    return [(one, pod, container) for one, pod in found for container in pod["containers"]]


def expanded(words: list[str]) -> list[str]:
    """As Kubernetes fills in variables of the container."""
    return [re.sub(r"\$\((\w+)\)", "filled-in", word) for word in words]


def probes(container: dict[str, Any]) -> Iterator[list[str]]:
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        if name in container:
            yield container[name]["exec"]["command"]


def names() -> list[str]:
    return [f"{one['kind']}-{one['metadata']['name']}" for one, _, _ in workloads()]


@pytest.mark.parametrize("case", workloads(), ids=names())
def test_each_command_is_one_of_ours(case: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]) -> None:
    """The image begins with `seatunnel`, so the arguments follow that; probes name it."""
    _, _, container = case
    require_command(expanded(container["args"]))
    for words in probes(container):
        assert words[0] == "seatunnel"
        require_command(words[1:])


def test_a_wrong_command_is_found() -> None:
    """The check can fail."""
    with pytest.raises(Exception, match="No such option: --prob"):
        require_command(["jobs", "show", "orders", "--prob"])
    with pytest.raises(KeyError):
        require_command(["server", "prob"])


@pytest.mark.parametrize("case", workloads(), ids=names())
def test_variables_of_a_command_are_defined(case: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]) -> None:
    """Kubernetes leaves `$(NAME)` as it is where the container has no such variable."""
    _, _, container = case
    used = set(re.findall(r"\$\((\w+)\)", " ".join(container["args"])))
    assert used <= {one["name"] for one in container.get("env", ())}


@pytest.mark.parametrize("case", workloads(), ids=names())
def test_what_a_pod_mounts_is_there(case: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]) -> None:
    """Volumes of the pod, claims and job files of these manifests, and the home where the image has it."""
    _, pod, container = case
    made = {(one["kind"], one["metadata"]["name"]) for _, one in objects()}
    volumes = {one["name"]: one for one in pod["volumes"]}
    for volume in pod["volumes"]:
        if claim := volume.get("persistentVolumeClaim"):
            assert ("PersistentVolumeClaim", claim["claimName"]) in made
        if files := volume.get("configMap"):
            assert ("ConfigMap", files["name"]) in made
        if secret := volume.get("secret"):
            assert secret["secretName"] in GIVEN["secret"]
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    assert set(mounts.values()) == set(volumes)
    assert volumes[mounts["/var/lib/seatunnel"]]["persistentVolumeClaim"]["claimName"] == "seatunnel-home"
    assert "SEATUNNEL_HOME=/var/lib/seatunnel" in CONTAINERFILE.read_text()
    for word in container["args"]:
        if word.startswith("/etc/seatunnel/"):
            files = volumes[mounts["/etc/seatunnel"]]["configMap"]["name"]
            data = next(one["data"] for _, one in objects() if one["metadata"]["name"] == files and "data" in one)
            assert word.removeprefix("/etc/seatunnel/") in data
    account = pod.get("serviceAccountName")
    assert account is None or ("ServiceAccount", account) in made


@pytest.mark.parametrize("case", workloads(), ids=names())
def test_a_pod_ends_in_order_and_has_no_rights(case: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]) -> None:
    """A stop needs time for a savepoint; one pod at a time has a job; a wrong job file is not tried again."""
    one, pod, container = case
    user = re.search(r"^USER (\d+):(\d+)$", CONTAINERFILE.read_text(), flags=re.MULTILINE)
    assert user is not None and pod["terminationGracePeriodSeconds"] >= 60
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": int(user[1]),
        "runAsGroup": int(user[2]),
        "fsGroup": int(user[2]),
    }
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    if one["kind"] == "Deployment":
        assert (one["spec"]["replicas"], one["spec"]["strategy"]) == (1, {"type": "Recreate"})
        wanted = one["spec"]["selector"]["matchLabels"]
        assert wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items()
        return
    job = one["spec"]["jobTemplate"]["spec"] if one["kind"] == "CronJob" else one["spec"]
    first = job["podFailurePolicy"]["rules"][0]
    assert (first["action"], first["onExitCodes"]["values"]) == ("FailJob", [ExitCode.JOB_FILE_WRONG])
    assert first["onExitCodes"]["containerName"] == container["name"] and pod["restartPolicy"] == "Never"


def test_the_service_finds_the_server() -> None:
    found = {(one["kind"], one["metadata"]["name"]): one for _, one in objects()}
    service, server = found["Service", "seatunnel-server"], found["Deployment", "seatunnel-server"]
    pod = server["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    ports = {one["name"]: one["containerPort"] for one in pod["spec"]["containers"][0]["ports"]}
    assert [ports[one["targetPort"]] for one in service["spec"]["ports"]] == [5801]
    labels = [one["metadata"].get("labels") for one in found.values() if pod_of(one) and one["kind"] == "Deployment"]
    assert all(labels.count(one) == 1 for one in labels), "one Deployment would take over the pods of another"


def job_files() -> list[tuple[str, str]]:
    maps = [one for _, one in objects() if one["kind"] == "ConfigMap"]
    return [(name, text) for one in maps for name, text in one["data"].items()]


@pytest.mark.parametrize(("name", "text"), job_files(), ids=[name for name, _ in job_files()])
def test_a_job_file_is_valid(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variables that its pod gives it."""
    for secret, value in SECRETS.items():
        monkeypatch.setenv(secret, value)
    path = tmp_path / name
    path.write_text(text)
    variables = dict.fromkeys(re.findall(r"\$\{(pod_\w+)\}", text), "10.0.0.1")
    job = app.check(path, variables)
    master = job.file.env.spark.get("master")
    assert (master or "").startswith("k8s://") == (name == "shop.conf")
    if master:
        assert job.file.env.spark["driver.host"] == "10.0.0.1", "executors call the driver by the address of its pod"
