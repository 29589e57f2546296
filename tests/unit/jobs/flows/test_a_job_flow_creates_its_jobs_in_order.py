"""JobFlows: whose turn it is, what probes ask, what the status says, whatever state is met."""

from __future__ import annotations

import itertools
import re
from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.jobs.job_flows import NOW, created, job, job_flow, plan, step, template
from volcano_py.jobs.flows.jobs import flow_job, patched
from volcano_py.jobs.flows.model import JobFlow
from volcano_py.jobs.flows.plan import FlowPlan, PodProbe, flow_problems
from volcano_py.jobs.model import VolcanoJob

CHAIN = job_flow(step("a"), step("b", "a"), step("c", "a", "b"))


def reasons(made: FlowPlan) -> list[str]:
    return [event.reason for event in made.events]


# Whose turn it is.


def test_a_flow_begins_with_the_steps_that_depend_on_nothing() -> None:
    assert created(plan(job_flow(step("a"), step("b", "a"), step("c")))) == ["a", "c"]


@pytest.mark.parametrize("phase", ["", "Pending", "Running", "Completing", "Restarting", "Aborted"])
def test_a_step_waits_until_its_targets_have_completed(phase: str) -> None:
    assert created(plan(CHAIN, job("a", phase))) == []
    assert created(plan(CHAIN, job("a", "Completed"))) == ["b"]


def test_a_step_waits_for_all_of_its_targets() -> None:
    assert created(plan(CHAIN, job("a", "Completed"), job("b", "Running"))) == []
    assert created(plan(CHAIN, job("a", "Completed"), job("b", "Completed"))) == ["c"]


def test_a_job_that_completed_and_is_gone_still_counts() -> None:
    """A template with ttlSecondsAfterFinished: otherwise the Job would be created again and again."""
    done = {"jobStatusList": [{"name": "f-a", "state": "Completed"}], "state": {"phase": "Running"}}
    made = plan(job_flow(step("a"), step("b", "a"), status=done))
    assert created(made) == ["b"]
    assert made.status.completed_jobs == ["f-a"]


def test_a_job_that_was_deleted_before_it_ended_is_created_again() -> None:
    lost = {"jobStatusList": [{"name": "f-a", "state": "Running"}], "state": {"phase": "Running"}}
    assert created(plan(job_flow(step("a"), step("b", "a"), status=lost))) == ["a"]


def test_an_object_of_the_same_name_with_another_owner_does_not_count() -> None:
    assert created(plan(CHAIN, job("a", "Completed", owner="another"))) == ["a"]


@pytest.mark.parametrize("phase", ["Failed", "Terminated"])
def test_a_flow_whose_job_failed_makes_no_more(phase: str) -> None:
    made = plan(job_flow(step("a"), step("b"), step("c", "b")), job("a", phase), job("b", "Completed"))
    assert (made.status.state.phase, created(made)) == ("Failed", [])


def test_a_template_that_is_missing_is_reported_and_the_others_go_on() -> None:
    made = plan(job_flow(step("a"), step("b")), without=("a",))
    assert (created(made), reasons(made)) == (["b"], ["JobTemplateNotFound"])
    assert "JobTemplate 'a' does not exist in the namespace" in made.events[0].message


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([step("a", "x")], r"spec.flows\[a\].dependsOn.targets has 'x', which is not a step of the flow"),
        ([step("a", "a")], "spec.flows has a cycle: a → a"),
        ([step("a", "c"), step("b", "a"), step("c", "b")], "has a cycle: (a → b → c → a|b → c → a → b|c → a → b → c)"),
    ],
)
def test_what_is_no_order_is_refused_as_a_whole(steps: list[dict[str, Any]], problem: str) -> None:
    flow = job_flow(step("fine"), *steps)
    (found,) = flow_problems(flow.spec.flows)
    assert re.search(problem, found)
    made = plan(flow)
    assert (created(made), reasons(made), made.status.state.phase) == ([], ["InvalidJobFlow"], "Pending")


def test_of_two_steps_with_one_name_the_first_counts_and_an_event_says_so() -> None:
    made = plan(job_flow(step("a"), step("b", "a"), step("a", "b")))
    assert (created(made), reasons(made)) == (["a"], ["InvalidJobFlow"])
    assert made.events[0].message == (
        "spec.flows names a more than once: the first counts, as there is one Job for a name"
    )
    assert made.status.pending_jobs == []


# Probes.

ANSWERS = {"httpGetList": [{"taskName": "serve", "path": "/ready", "port": 80}]}
LISTENS = {"tcpSocketList": [{"taskName": "serve", "port": 80}]}
RUNS = {"taskStatusList": [{"taskName": "serve", "phase": "Running"}]}


def counts(**phases: int) -> dict[str, Any]:
    return {"taskStatusCount": {"serve": {"phase": phases}}}


def test_a_task_in_a_phase_means_as_many_pods_as_it_needs() -> None:
    flow = job_flow(step("a"), step("b", "a", probe=RUNS))
    assert created(plan(flow)) == ["a"]
    assert created(plan(flow, job("a", "Running", **counts(Running=1, Pending=1)))) == []
    assert created(plan(flow, job("a", "Running", **counts(Running=2)))) == ["b"]


def test_without_a_task_all_tasks_are_meant() -> None:
    flow = job_flow(step("a"), step("b", "a", probe={"taskStatusList": [{"phase": "Running"}]}))
    assert created(plan(flow, job("a", "Running", **counts(Running=2)))) == ["b"]  # `log` needs none
    assert created(plan(flow, job("a", "Running", **counts(Running=1)))) == []


@pytest.mark.parametrize("probe", [ANSWERS, LISTENS, RUNS])
def test_a_target_that_has_completed_has_been_through_it_all(probe: dict[str, Any]) -> None:
    flow = job_flow(step("a"), step("b", "a", probe=probe))
    made = plan(flow, job("a", "Completed"))
    assert (created(made), made.probes) == (["b"], frozenset())


@pytest.mark.parametrize(
    ("probe", "question"),
    [
        (ANSWERS, PodProbe("f-a", "serve", 2, 80, "/ready")),
        (LISTENS, PodProbe("f-a", "serve", 2, 80)),
        ({"httpGetList": [{"port": 80}]}, PodProbe("f-a", "", 2, 80, "/")),
        (
            {"httpGetList": [{"taskName": "log", "port": 80, "httpHeader": {"name": "Host", "value": "x"}}]},
            PodProbe("f-a", "log", 0, 80, "/", ("Host", "x")),
        ),
    ],
)
def test_pods_are_asked_and_their_answer_decides(probe: dict[str, Any], question: PodProbe) -> None:
    flow = job_flow(step("a"), step("b", "a", probe=probe))
    target = job("a", "Running")
    for answers in ({}, {question: False}):
        made = plan(flow, target, answers=answers)
        assert (created(made), made.probes) == ([], frozenset({question}))
    made = plan(flow, target, answers={question: True})
    assert (created(made), made.probes) == (["b"], frozenset())


def test_no_probe_is_sent_before_all_targets_have_begun() -> None:
    flow = job_flow(step("a"), step("b"), step("c", "a", "b", probe=LISTENS))
    assert plan(flow, job("a", "Running")).probes == frozenset()
    assert len(plan(flow, job("a", "Running"), job("b", "Running")).probes) == 2


def test_a_task_that_a_target_had_which_has_completed_is_not_missed() -> None:
    """The other targets need not have it."""
    probe = {"taskStatusList": [{"taskName": "of-a-alone", "phase": "Running"}]}
    flow = job_flow(step("a"), step("b"), step("c", "a", "b", probe=probe))
    made = plan(flow, job("a", "Completed"), job("b", "Running"))
    assert (created(made), made.events) == (["c"], ())


def test_all_of_a_probe_must_hold() -> None:
    flow = job_flow(step("a"), step("b", "a", probe=RUNS | LISTENS))
    running, answered = counts(Running=2), {PodProbe("f-a", "serve", 2, 80): True}
    assert created(plan(flow, job("a", "Running", **running))) == []
    assert created(plan(flow, job("a", "Running"), answers=answered)) == []
    assert created(plan(flow, job("a", "Running", **running), answers=answered)) == ["b"]


def test_a_task_that_no_target_has_is_reported() -> None:
    probe = {"tcpSocketList": [{"taskName": "sevre", "port": 80}]}
    made = plan(job_flow(step("a"), step("b", "a", probe=probe)), job("a", "Running"))
    assert (created(made), reasons(made)) == ([], ["TaskNotFound"])
    assert made.events[0].message == "step b waits: dependsOn.probe asks for task 'sevre', which f-a does not have"


# The status, and the end.


def test_the_status_lists_jobs_by_what_they_are_at() -> None:
    phases = {
        "a": "Pending", "b": "Running", "c": "Completing", "d": "Completed", "e": "Terminating",
        "f": "Aborted", "g": "",
    }  # fmt: skip
    status = plan(job_flow(*map(step, phases)), *(job(name, phase) for name, phase in phases.items())).status
    assert (status.pending_jobs, status.running_jobs) == (["f-a", "f-g"], ["f-b"])
    assert (status.completed_jobs, status.terminated_jobs) == (["f-c", "f-d"], ["f-e"])
    assert (status.failed_jobs, status.un_know_jobs) == ([], ["f-f"])


@pytest.mark.parametrize(
    ("phases", "phase"),
    [
        ({}, "Pending"),
        ({"a": "Pending"}, "Pending"),
        ({"a": "Running"}, "Running"),
        ({"a": "Completed"}, "Running"),
        ({"a": "Completed", "b": "Completed", "c": "Running"}, "Running"),
        ({"a": "Completed", "b": "Completed", "c": "Completed"}, "Succeed"),
        ({"a": "Completed", "b": "Failed"}, "Failed"),
    ],
)
def test_the_phase_follows_from_the_jobs(phases: dict[str, str], phase: str) -> None:
    assert plan(CHAIN, *(job(name, its) for name, its in phases.items())).status.state.phase == phase


def test_a_flow_that_has_begun_stays_running_while_a_job_starts_again() -> None:
    begun = msgspec.structs.replace(CHAIN, status=plan(CHAIN, job("a", "Running")).status)
    assert plan(begun, job("a", "Pending")).status.state.phase == "Running"


@pytest.mark.parametrize("phase", ["Succeed", "Failed"])
def test_the_end_is_final(phase: str) -> None:
    over = job_flow(step("a"), step("b", "a"), step("late"), status={"state": {"phase": phase}})
    made = plan(over, job("a", "Running"))
    assert (created(made), made.status.state.phase) == ([], phase)


def test_jobs_stay_or_go_as_the_policy_says() -> None:
    jobs = [job("a", "Completed"), job("b", "Completed")]
    for policy, gone in (("retain", []), ("", []), ("delete", ["f-a", "f-b"])):
        made = plan(job_flow(step("a"), step("b"), jobRetainPolicy=policy), *jobs)
        assert ([each.metadata.name for each in made.remove], made.status.state.phase) == (gone, "Succeed")


def test_the_status_of_a_flow_whose_jobs_were_deleted_stays() -> None:
    flow = job_flow(step("a"), jobRetainPolicy="delete")
    over = msgspec.structs.replace(flow, status=plan(flow, job("a", "Completed")).status)
    assert plan(over).status == over.status
    assert created(plan(over)) == []


def test_a_flow_that_is_being_deleted_does_nothing_but_say_so() -> None:
    metadata = msgspec.structs.replace(CHAIN.metadata, deletion_timestamp=NOW)
    made = plan(msgspec.structs.replace(CHAIN, metadata=metadata), job("a", "Completed"))
    assert (created(made), made.status.state.phase) == ([], "Terminating")


def after(flow: JobFlow, *jobs: VolcanoJob) -> JobFlow:
    return msgspec.structs.replace(flow, status=plan(flow, *jobs).status)


def test_each_job_has_its_history() -> None:
    flow = job_flow(step("a"))
    for number, phase in enumerate(("Pending", "Running", "Running", "Completed")):
        flow = after(flow, job("a", phase, minute=min(number, 2) if phase == "Running" else number, retryCount=1))
    (status,) = flow.status.job_status_list

    def at(minute: int) -> datetime:
        return NOW.replace(hour=8, minute=minute)

    assert [(each.state, each.start_timestamp, each.end_timestamp) for each in status.running_histories] == [
        ("Pending", at(0), at(1)),
        ("Running", at(1), at(3)),
        ("Completed", at(3), None),
    ]
    assert (status.start_timestamp, status.end_timestamp, status.restart_count) == (at(0), at(3), 1)


def test_a_job_that_was_created_again_has_a_history_of_its_own() -> None:
    first, again = job("a", "Running", minute=1), job("a", "Pending", minute=9)
    later = msgspec.structs.replace(again.metadata, creation_timestamp=NOW)
    flow = after(job_flow(step("a")), first)
    (status,) = plan(flow, msgspec.structs.replace(again, metadata=later)).status.job_status_list
    assert [each.state for each in status.running_histories] == ["Pending"]
    assert status.start_timestamp == NOW


def test_the_conditions_show_each_job() -> None:
    made = plan(job_flow(step("a")), job("a", "Running", runningDuration="1m30s", **counts(Running=2)))
    condition = made.status.conditions["f-a"]
    assert (condition.phase, condition.running_duration) == ("Running", "1m30s")
    assert condition.task_status_count["serve"].phase == {"Running": 2}


# The Jobs.


def test_the_job_is_the_template_and_names_where_it_comes_from() -> None:
    body = flow_job(CHAIN, CHAIN.spec.flows[0], template("a", queue="q"))
    marks = {"volcano.sh/createdByJobTemplate": "ns.a", "volcano.sh/createdByJobFlow": "ns.f"}
    assert body["metadata"]["name"] == "f-a"
    assert body["metadata"]["labels"] == body["metadata"]["annotations"] == marks
    (owner,) = body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("JobFlow", "flow", True)
    assert body["spec"] == {"queue": "q"}


def test_a_name_too_long_for_a_label_is_an_annotation_only() -> None:
    metadata = flow_job(CHAIN, CHAIN.spec.flows[0], template("a" * 80))["metadata"]
    assert metadata["labels"] == {"volcano.sh/createdByJobFlow": "ns.f"}
    assert metadata["annotations"]["volcano.sh/createdByJobTemplate"] == f"ns.{'a' * 80}"


SPEC = {
    "queue": "q",
    "minAvailable": 2,
    "plugins": {"env": [], "ssh": []},
    "tasks": [
        {
            "name": "one",
            "replicas": 1,
            "template": {
                "spec": {
                    "containers": [
                        {"name": "main", "image": "i", "command": ["a", "b"], "env": [{"name": "A", "value": "1"}]},
                        {"name": "side", "image": "s"},
                    ]
                }
            },
        },
        {"name": "two", "replicas": 2},
    ],
}


def in_main(**container: Any) -> dict[str, Any]:
    containers = [{"name": "main", **container}]
    return {"tasks": [{"name": "one", "template": {"spec": {"containers": containers}}}]}


def main_of(spec: dict[str, Any]) -> dict[str, Any]:
    containers: list[dict[str, Any]] = spec["tasks"][0]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["main", "side"]
    return containers[0]


def test_a_patch_changes_what_it_names_and_nothing_else() -> None:
    changed = patched(SPEC, {"queue": "other", "minAvailable": None, "plugins": {"svc": [], "ssh": None}})
    assert (changed["queue"], changed["plugins"]) == ("other", {"env": [], "svc": []})
    assert "minAvailable" not in changed
    assert changed["tasks"] == SPEC["tasks"]


def test_tasks_containers_and_variables_are_merged_by_name() -> None:
    variables = [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]
    changed = patched(SPEC, in_main(command=["c"], env=variables))
    assert main_of(changed) == {"name": "main", "image": "i", "command": ["c"], "env": variables}
    assert [task["name"] for task in changed["tasks"]] == ["one", "two"]
    assert changed["tasks"][1] == {"name": "two", "replicas": 2}


def test_ports_are_merged_by_number_and_protocol() -> None:
    tcp, udp = {"containerPort": 53, "name": "tcp"}, {"containerPort": 53, "protocol": "UDP", "name": "udp"}
    changed = patched(patched(SPEC, in_main(ports=[tcp, udp])), in_main(ports=[{"containerPort": 8080}]))
    assert main_of(changed)["ports"] == [tcp, udp, {"containerPort": 8080}]
    changed = patched(changed, in_main(ports=[{"containerPort": 53, "protocol": "TCP", "name": "dns"}]))
    assert [port.get("name") for port in main_of(changed)["ports"]] == ["dns", "udp", None]


@pytest.mark.parametrize("name", [{"x": 1}, ["x"], None])
def test_a_list_whose_items_have_no_names_is_replaced(name: Any) -> None:
    """The API server says what is wrong with it."""
    assert patched(SPEC, {"tasks": [{"name": name}]})["tasks"] == [{"name": name}]


def test_a_task_that_the_template_does_not_have_is_added() -> None:
    changed = patched(SPEC, {"tasks": [{"name": "three", "replicas": 3}]})
    assert [task["name"] for task in changed["tasks"]] == ["one", "two", "three"]


def test_the_template_stays_as_it_is() -> None:
    before = msgspec.json.encode(SPEC)
    changed = patched(SPEC, in_main(image="j"))
    changed["tasks"].clear()
    patched(SPEC, {})["tasks"].clear()
    assert msgspec.json.encode(SPEC) == before


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["tasks", "name", "env", "x", "volumes"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_any_patch_can_be_applied(change: Any) -> None:
    """The API server prunes and checks patches; what slips through must harm the flow at most."""
    if isinstance(change, dict):
        msgspec.json.encode(patched(SPEC, change))


# What always holds.


@st.composite
def flows(draw: st.DrawFn) -> JobFlow:
    """Flows without circles: each step depends on some of those before it. Their order in the object is any."""
    count = draw(st.integers(1, 7))
    steps = [
        step(
            f"s{number}",
            *draw(st.lists(st.sampled_from([f"s{n}" for n in range(number)]), unique=True) if number else st.just([])),
        )
        for number in range(count)
    ]
    return job_flow(*draw(st.permutations(steps)), jobRetainPolicy=draw(st.sampled_from(["retain", "delete"])))


@given(flows(), st.data())
@settings(max_examples=settings().max_examples, deadline=None)
def test_jobs_are_created_in_the_order_of_the_graph_once_each(flow: JobFlow, data: st.DataObject) -> None:
    """Jobs complete in any order, may be gone at once, and the status is not always written."""
    assert flow_problems(flow.spec.flows) == []
    jobs: dict[str, VolcanoJob] = {}
    order: list[str] = []
    completed: set[str] = set()
    targets = {each.name: set(each.targets) for each in flow.spec.flows}
    for _ in itertools.islice(itertools.count(), 40):
        made = plan(flow, *jobs.values())
        for each in made.create:
            assert targets[each.name] <= completed
            order.append(each.name)
            jobs[each.name] = job(each.name, "Running")
        for gone in made.remove:
            jobs.pop(gone.metadata.name.removeprefix("f-"))
        flow = after(flow, *jobs.values())
        running = [name for name, its in jobs.items() if its.status.state.phase == "Running"]
        if not running:
            break
        ended = data.draw(st.sampled_from(running))
        jobs[ended] = job(ended, "Completed")
        completed.add(ended)
        flow = after(flow, *jobs.values())
        if data.draw(st.booleans()):
            del jobs[ended]  # its time to live is over
    assert sorted(order) == sorted(targets)
    assert flow.status.state.phase == "Succeed"
