"""The plugin interface: every question that a plugin may answer, in one class.

It is one file on purpose, though a long one: there is no logic in it, and authors read it from top to bottom or search
it for a method. The sections follow the order in which a cycle asks.

A plugin is a class with a `name`, an `Arguments` model and one method for each extension point it fills. The session
sees which methods a class overrides; a point that is not overridden costs nothing. A plugin does no I/O: it reads the
session, answers, and keeps its own numbers up to date from the `on_allocate` and `on_deallocate` events. Every cycle
has a new instance.

Each method says how the answers of several plugins combine. Plugins are asked tier by tier, in file order, without
those whose `enable…` flag for the point is off. When a call raises, or its answer makes no sense, the closed answer of
its point counts (refuse, no room, no victims, neutral order); the failure is logged and counted, and the other plugins
are asked as usual. A plugin that fails while it updates its own numbers (`on_session_open`, `on_allocate`, …) is closed
for the rest of the cycle.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.queues.fields import QueueField
from volcano_py.api.report import NamespaceShare, TierUse
from volcano_py.config.arguments import Arguments, NoArguments
from volcano_py.config.flags import Flags
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.stand_ins import StandIns
from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.domain_scores import DomainScore
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.ordering.outlook import Outlook
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.views import ClassesView, Codes, Counts, NodeView, Scores
from volcano_py.framework.votes import Ballot, Room
from volcano_py.state.devices.needs import Ask
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass
from volcano_py.state.topology.tree import Tree

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

Key = float | int | str | tuple[Any, ...]
"""An ordering key: the smaller goes first."""


class Reach(Enum):
    """How far placing one task changes an answer, so that the placer updates only that part."""

    STATIC = "static"
    """Nothing placed in this cycle changes it."""
    ROW = "row"
    """It may change for the node that took the task."""
    FEASIBLE_SET = "feasible set"
    """It depends on which nodes are feasible: a score normalised over them."""
    DOMAIN = "domain"
    """It may change for any node: spread, affinity between pods."""


class GoesBy(IntEnum):
    """What changes the refusals of a class, apart from nodes, queues and the class itself. Each includes the ones
    before it."""

    PODS = 0
    """Where pods are that its required (anti-)affinity and topology spread select, pods with a required anti-affinity
    that selects it, and pods that hold a host port, disk or claim that it asks for, or volumes of the same driver or
    storage class."""
    USE = 1
    """How much pods use of each node. A pod that is placed opens no node by it unless it asks for a device."""
    UNKNOWN = 2
    """Anything."""


class Plugin:
    """Base class of all plugins; see the module."""

    name: ClassVar[str]
    arguments_type: ClassVar[type[Arguments]] = NoArguments
    guards: ClassVar[frozenset[str]] = frozenset()
    """Victim points (`preemptable`, `reclaimable`) at which this plugin's no is final, in any tier."""
    only_protects: ClassVar[bool] = False
    """Whether it only protects pods. A pod that it does not protect becomes a victim only if another plugin offers it;
    otherwise such a plugin, alone in a tier, would offer every pod to every preemptor."""
    protects_temporarily: ClassVar[bool] = False
    """Whether its no to a victim ends with time. Such a no is ignored when checking whether two jobs would evict each
    other in turn: they would do so all the same, only more slowly."""
    judges_units: ClassVar[bool] = False
    """Whether it judges a unit of victims as a whole (`judge_unit`), rather than pod by pod."""
    preempts_equals: ClassVar[bool] = False
    """Whether jobs that it names at `preemptable` may be evicted whole even if their priority is not below that of the
    preemptor."""
    predicate_lasts: ClassVar[bool] = False
    """Whether `predicate` answers with reach STATIC follow from the class, the nodes (without their pods), the queues
    and the plugin's arguments alone, claims of the class apart: not from the time, measured load, or other jobs. If all
    plugins say so, jobs that wait only for room are not evaluated until a change of nodes concerns them. A plugin whose
    answers follow from more says from what: `predicate_follows_from`."""
    sees_jobs_alike: ClassVar[bool] = False
    """Whether all its answers are the same for waiting jobs of one queue and namespace that differ only in their
    names, ages, labels and annotations. When all plugins say so, preempt and reclaim do not search again for a job
    after they found nothing for an equal one."""
    evictions_last: ClassVar[bool] = False
    """Whether all its answers about jobs that starve, their places and victims follow from that job, the nodes, the
    queues, its arguments, pods that have nodes, with their jobs, and what `predicate_follows_from` and
    `scores_follow_from` return: not from the time, nor from other jobs that wait. If all plugins say so, jobs for which
    preempt and reclaim found nothing are not evaluated again until some of that changes."""
    allows_series: ClassVar[bool] = False
    """Whether single pods may take their turns in series, which the tables show only at the end of each series.

    If so, what the plugin answers about the order of queues and namespaces, about what queues may take and at
    `pre_predicate` follows from what it read when the session opened, and from `on_allocate`. This reads nothing but
    the placement if its class `uses_amounts_only`. A task that is placed takes at most one place of the room that any
    queue has for its class (`allocatable`), so queues need not be asked in every turn. Also, `job_ready` holds for jobs
    with a `minMember` of at most 1, without roles and sub-groups, as soon as one task has a place. Plugins that fill
    none of these points are not asked."""
    refuses_incomplete: ClassVar[bool] = False
    """Whether `job_valid` refuses every job that has fewer pods than its `minMember`; those that wait, have a place or
    have succeeded count. If a plugin says so, a cycle starts at once for the pod that completes such a job, but not for
    those before it: they are looked at a quarter of a second later at most."""
    hierarchy_points: ClassVar[frozenset[str]] = frozenset()
    """Points that the plugin fills with `enableHierarchy` only."""
    queue_fields: ClassVar[frozenset[QueueField]] = frozenset()
    """Fields of a Queue by which the plugin divides the cluster. Fields that a queue has, but no configured plugin
    reads, are reported on the queue."""
    hierarchy_queue_fields: ClassVar[frozenset[QueueField]] = frozenset()
    """Further fields that it reads with `enableHierarchy`."""
    unsupported_flags: ClassVar[Mapping[str, str]] = {}
    """Field of `Flags` → what is not supported yet. A configuration that switches one on is refused, because
    scheduling would not follow the rules that it has."""

    def __init__(self, arguments: Any, flags: Flags) -> None:
        """`arguments` is an instance of `arguments_type`; `flags` are the switches of this entry."""
        self.arguments = arguments
        self.flags = flags
        self.memory: dict[str, Any] = {}
        """What the plugin remembers from cycle to cycle, as `ssn.memory(name)`; set before anything is asked."""

    # -- life ------------------------------------------------------------------------------------------------------

    def on_session_open(self, ssn: Session) -> None:
        """Called in tier order after the snapshot is taken. Keep `ssn`; compute what the cycle needs."""

    def on_session_close(self, ssn: Session) -> None:
        """Called in tier order after the actions, before statuses are written."""

    def describe_queues(self) -> Mapping[str, Mapping[str, Any]]:
        """Queue name → fields of `api.report.QueueReport` that this plugin computes. Asked at the end of a cycle,
        and by the page also at its start."""
        return {}

    def describe_namespaces(self) -> Mapping[str, NamespaceShare]:
        """Namespace → what it holds. Asked at the end of a cycle."""
        return {}

    def describe_jobs(self) -> Mapping[str, float]:
        """PodGroup (namespace/name) → its share. Asked at the end of a cycle if series per job are switched on."""
        return {}

    def describe_network(self) -> Mapping[str, TierUse]:
        """Tier → jobs that are kept together and placed in it. Asked at the end of a cycle."""
        return {}

    def predicate_follows_from(self) -> Hashable:
        """What answers of `predicate` with reach STATIC follow from beyond what `predicate_lasts` allows, as it was
        when the session opened, to be compared between cycles. None if that cannot be said."""
        return () if self.predicate_lasts else None

    def scores_follow_from(self) -> Hashable:
        """What the choice among nodes, and among domains of the network, follows from beyond the class, its job, the
        nodes (without their images), pods that have nodes and `predicate_follows_from`, as it was when the session
        opened, to be compared between cycles. None if that cannot be said.

        It matters for gangs that may fit only if some of their pods go to certain nodes, and before evictions.
        """
        return ()

    def evictions_follow_from(self) -> Hashable:
        """What the plugin's answers follow from beyond what `evictions_last` allows, as it was when the session opened,
        to be compared between cycles. None if that cannot be said: if they follow from the time, for example."""
        return () if self.evictions_last else None

    # -- order -----------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        """Among jobs of a queue. Keys of all plugins are compared in tier order; then creation time and name decide."""
        raise NotImplementedError

    def queue_order(self, queue: QueueInfo) -> Key:
        """Among queues, combined as `job_order`; then creation time and name decide."""
        raise NotImplementedError

    def queue_paths(self) -> Mapping[str, tuple[str, ...]]:
        """The tree of queues: queue name → names from the node below the root down to the queue's own node.

        At most one plugin gives the tree; queues it leaves out are below the root under their own name. `queue_order`
        then only ranks queues (by priority, say) before the tree is asked.
        """
        raise NotImplementedError

    def branch_order(self, path: tuple[str, ...]) -> Key:
        """The current key of a node of that tree among its siblings.

        Among equal siblings the best waiting node below them decides, level by level; then the creation time and name
        of its queue.

        Keys may change when tasks are placed or removed, and at no other time.
        """
        raise NotImplementedError

    def namespace_order(self, queue: QueueInfo, namespace: str) -> Key:
        """Among namespaces with work in the queue, combined as `job_order`; then the namespace's name decides.

        Asked by allocate, before `job_order`, where `enableNamespaceOrder` is on. The key may change when a task of the
        namespace in this queue is placed.
        """
        raise NotImplementedError

    def branch_epoch(self) -> int:
        """A number that grows when keys change for nodes off the path of the queue that was just served."""
        return 0

    def look_ahead(self, task_class: TaskClass) -> Outlook | None:  # noqa: ARG002
        """What the plugin will answer at `queue_order` or, if it gives a tree, `branch_order`, and at `overused` and
        `allocatable`, as tasks of the class are placed. With it, many turns of single pods are ordered at once.

        Asked if no other plugin answers any of these, with `allows_series`. If the plugin gives a tree, its
        `queue_order` must not change with placements. None: that cannot be said.
        """
        return None

    def task_order(self, rows: Rows) -> NDArray[np.float64]:
        """[K] keys for tasks of one job; then the number at the end of the name, creation time and UID decide."""
        raise NotImplementedError

    # -- what may happen to a job ------------------------------------------------------------------------------------

    def job_valid(self, job: Job) -> Refusal | None:
        """Why the job cannot be scheduled as it is. The first refusal wins; not switchable.

        It must follow from the job, its tasks, the queues and the plugin's arguments: while these stay the same, a job
        that no node will take is not asked about again.
        """
        raise NotImplementedError

    def certainly_valid(self, rows: Rows) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """[K] which of the jobs in these rows of the job table `job_valid` would not refuse; None: not known.

        Not a point of its own. Asked once for thousands of jobs, so that `job_valid` is asked of the others only. A
        wrong no costs time.
        """
        return None

    def job_enqueueable(self, job: Job) -> Ballot:
        """May a pending job be admitted? Votes, see Vote."""
        raise NotImplementedError

    def job_enqueued(self, job: Job) -> None:
        """The job was admitted. All plugins are notified."""
        raise NotImplementedError

    def job_ready(self, job: Job) -> bool:
        """Are enough of its tasks placed to bind them? All must agree; with no plugin every job is ready."""
        raise NotImplementedError

    def certainly_ready(self, rows: Rows) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """[K] the same of `job_ready`: which of the jobs in these rows are ready for certain; None: not known."""
        return None

    def tasks_to_ready(self, job: Job) -> int:
        """How many more tasks `job_ready` needs at least; they are placed in one sweep. The largest answer holds."""
        raise NotImplementedError

    def job_pipelined(self, job: Job) -> Ballot:
        """Would the job be ready once what is being released is free? Votes; before pods are evicted for the job, one
        REJECT in any tier means no."""
        raise NotImplementedError

    def job_starving(self, job: Job) -> bool:
        """May the job ask for victims of the action that runs (`ssn.action`)? All plugins of the first tier that has
        any must agree; without any, the answer is no."""
        raise NotImplementedError

    # -- what a queue may take ---------------------------------------------------------------------------------------

    def overused(self, queue: QueueInfo) -> bool:
        """Does the queue have its share already? One yes drops it for the rest of the action."""
        raise NotImplementedError

    def why_overused(self, queue: QueueInfo) -> Refusal | None:  # noqa: ARG002
        """What jobs of the queue wait for, if this plugin finds it `overused`; None: it has all that it deserves.

        Not a point of its own, and decides nothing.
        """
        return None

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        """How many more tasks of the class the queue may take. The smallest answer holds.

        Where pods of the queue are leaving, `Room.meanwhile` says how many may be bound before those are gone.
        """
        raise NotImplementedError

    def refuses_together(self, queue: QueueInfo, tasks: Rows) -> Refusal | None:  # noqa: ARG002
        """Why the queue cannot take these tasks of one job together; None: it can, or that is not known.

        Not a point of its own, and decides nothing. Asked at the end of a cycle, of plugins with `allocatable`, about
        the tasks that a gang needs to start if the queue had no room for one of them. The gang's places have been given
        back by then, so the message is about what others hold, and what the whole gang asks for.
        """
        return None

    def preemptive(self, queue: QueueInfo, tasks: Rows) -> bool:
        """May the queue reclaim from others for these tasks? All must agree."""
        raise NotImplementedError

    # -- nodes -----------------------------------------------------------------------------------------------------

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str] | None:
        """[K] what this plugin's answers about nodes depend on besides the pod itself, such as its queue, for each of
        the pending tasks `rows` of the job in row `job_row`. None or "" for nothing.

        Tasks that differ only in this are then of different classes, and `task_class.variant[name]` has the text.
        Asked before the session opens, so `cluster` is the copy that the session is built on. Every further
        variant costs another evaluation of all nodes, so return as few different texts as possible.
        """
        raise NotImplementedError

    def has_variants(self, cluster: ClusterCopy) -> bool:  # noqa: ARG002
        """Whether `task_variants` may differ from None for any job, so that it is worth asking for each."""
        return True

    def card_resources(self) -> frozenset[str]:
        """Resources that stand for parts of cards (GPUs), where the plugin chooses the cards: its `predicate` knows
        which nodes have them, its `on_allocate` takes them, and what it gives to `ssn.findings.annotate` is written on
        the pod with the binding.

        Not a point of its own. Pods that ask for such resources wait, Unsupported, unless plugins name all of them.
        Asked before the session opens.
        """
        return frozenset()

    def chooses_devices(self) -> bool:
        """Whether the plugin chooses the devices of ResourceClaims: its `predicate` knows which nodes have them, its
        `on_allocate` takes them and gives `ssn.findings.reserve_devices` what is written on the claims.

        Not a point of its own. Pods with such claims wait, Unsupported, unless a plugin says so. Asked before the
        session opens.
        """
        return False

    def aligns_cpus(self) -> bool:
        """Whether the plugin sees to it that pods get their CPUs on few NUMA nodes: its `predicate` knows which nodes
        have such CPUs free, its `on_allocate` takes them.

        Not a point of its own. Pods whose NUMA policy a node can fail wait, Unsupported, unless a plugin says so. Asked
        before the session opens.
        """
        return False

    def stand_ins(self, cluster: ClusterCopy, asks: Mapping[int, Ask]) -> Mapping[int, StandIns]:  # noqa: ARG002
        """Which nodes have devices that stand in for extended resources, where they do not have these themselves.

        Not a point of its own. Asked before the session opens, of a plugin that `chooses_devices`.

        Args:
            asks: by position on the resource axis, one device of the class that offers the resource.
        """
        return {}

    def pre_predicate(self, task_class: TaskClass) -> Refusal | None:
        """Why no node at all can take the class. The first refusal wins."""
        raise NotImplementedError

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        """[K] 0 where the node may take a task of the class, else a refusal id from `ssn.refusal(…)`.

        The first refusal of a node in tier order is its reason. Resources are not tested here.
        """
        raise NotImplementedError

    def late_predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        """[K] as `predicate`, for answers that are expensive: asked only about nodes that passed everything else and
        are about to be used, the best first; after a refusal, about twice as many as before.

        `predicate` of the same plugin has to repeat the refusals that were given; it is asked more often.
        """
        raise NotImplementedError

    def predicate_reach(self, task_class: TaskClass) -> Reach:  # noqa: ARG002
        """How `predicate` answers of this class move: STATIC, ROW or DOMAIN."""
        return Reach.STATIC

    def predicate_goes_by(self, task_class: TaskClass) -> GoesBy:  # noqa: ARG002
        """What changes `predicate`, `domain_filter` and their advice for the class. Unless that is UNKNOWN, jobs that
        wait for it to change are not evaluated until it does. Asked if `predicate_reach` is not STATIC, and of plugins
        with `domain_filter`."""
        return GoesBy.UNKNOWN

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes | None:  # noqa: ARG002
        """[K] those refusals of `predicate` that follow only from the class, the nodes (without their pods), the queues
        and the plugin's arguments; `view` has all nodes. None: not known.

        A class that every node refuses in this way is set aside before any job has its turn, and stays aside between
        cycles while nodes and queues are the same. A plugin that also fills `pre_predicate` or `predicate_advice` may
        answer only for classes for which those follow from the same facts.
        """
        return None

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        """[K] how many tasks of the class each node takes, one after the other, before `predicate` says no.

        Asked for classes whose `predicate_reach` is not STATIC, so that a gang can be placed in one sweep. If a number
        is too large, tasks break the predicate; if it is too small, they go to other nodes than they should. For a
        class of reach DOMAIN the numbers also promise that its tasks, placed within them, change no answer of any other
        node. None, or no such method: nodes are asked after each task.
        """
        raise NotImplementedError

    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        """The rule that closes and opens groups of nodes (zones, say) for the class as its tasks are placed. None:
        there is none for this class. A plugin with a rule for a class returns one whenever it is asked in the cycle.

        `view` has all nodes, as they are or (`view.released`) will be. What `predicate` says of a node comes first.
        Asked again whenever any node was touched, so a filter need not follow what is placed later; it only looks
        ahead.
        """
        raise NotImplementedError

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> Sequence[str]:
        """What would help a class that no node takes: sentences without a full stop, such as `Label a node gpu=a100 or
        correct spec.nodeSelector`. In the message of the pods they follow the summary of all refusals.

        Asked for each class of waiting pods once or more in a cycle, so keep what follows from nodes alone with
        `ssn.nodes.kept`. A text that changes from cycle to cycle is written to every pod each time, so let it change
        only with the facts. Long sentences are cut; those that would make the message too long are left out.
        """
        raise NotImplementedError

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        """[K] finite numbers, more is better, a function of the node alone. Scores of all plugins are added."""
        raise NotImplementedError

    def node_orders(self, view: ClassesView) -> Scores:
        """[C, K] `node_order` of several classes at once: each row to the last bit what `node_order` says of its class.

        Optional; it makes it cheap to place gangs of pods that are all different. Read what nodes have in use from
        `view`, which may show tasks on them that are not placed yet.
        """
        raise NotImplementedError

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        """[K] scores that depend on other nodes, too; `view` has all feasible nodes. None is 0 everywhere. Added."""
        raise NotImplementedError

    def batch_node_order_reach(self, task_class: TaskClass) -> Reach:  # noqa: ARG002
        """FEASIBLE_SET or DOMAIN."""
        return Reach.FEASIBLE_SET

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        """Scores of whole groups of nodes that change with every task of the class that is placed: a preferred spread
        over zones, say. None: there are none for this class. Added. A domain score can look ahead, so a gang is placed
        in one sweep, which `batch_node_order` with Reach.DOMAIN cannot do.

        `view` has all nodes. Asked again whenever any node was touched, so a domain score need not follow what is
        placed later. Where there is one, scores that differ by less than a millionth count as equal.
        """
        raise NotImplementedError

    def scores_nodes_alone(self, task_class: TaskClass) -> bool:  # noqa: ARG002
        """Whether `batch_node_order` and `domain_order` are None for the class throughout the cycle."""
        return False

    def best_node(self, task_class: TaskClass, view: NodeView, scores: Scores) -> int | None:
        """Position in `view` of the node to take regardless of the scores, or None. The first answer counts."""
        raise NotImplementedError

    # -- the network -----------------------------------------------------------------------------------------------

    def hyper_node_gradient(self, limit: int, tree: Tree) -> NDArray[np.bool_]:
        """[H] the domains of the network that may hold a job whose widest tier is `limit`. All must agree; with none,
        limits do not hold, and only scores keep jobs together."""
        raise NotImplementedError

    def hyper_node_order(self, request: NDArray[np.int64], tree: Tree, domains: Rows) -> Scores:
        """[K] scores of the domains for pods that request `request` [R] together, among domains of one tier. Added."""
        raise NotImplementedError

    def gathering_order(self, tree: Tree, placed: NDArray[np.int64], pods: int) -> DomainScore | None:
        """Scores that draw the next pods of a job towards those it has: `placed` [H] by nearest domain, of `pods` in
        all. The first plugin that fills it is asked."""
        raise NotImplementedError

    # -- victims -----------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        """[K] which candidates of the same queue may be evicted for the preemptor; None abstains.

        Candidates are sorted by task priority, lowest first, then youngest first; a plugin with running sums adds them
        up in this order. Before each victim but the first is evicted, the plugin is asked again about it alone. Inside
        a tier the answers intersect; the first tier with a victim left decides. A plugin that names the point in
        `guards` also filters what any other tier decided.
        """
        raise NotImplementedError

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        """[K] which candidates of other queues may be evicted for the reclaimer; combined as `preemptable`."""
        raise NotImplementedError

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """[K] which candidates the plugin could ever offer at `point` (preemptable or reclaimable), whatever the other
        candidates are; None: not known.

        Not a point of its own. Asked once for the pods of all nodes together, so that nodes with no possible victims
        are skipped. A wrong yes costs time, a wrong no loses a victim.
        """
        return None

    def judge_unit(self, point: str, need: Need, unit: Unit) -> Verdict | None:
        """Whether a unit (a surplus pod, or all that a job holds) may be evicted for what is needed at `point`
        (preemptable or reclaimable); None abstains.

        Not a point of its own: asked instead of the point where `judges_units` is set. Units that were evicted before
        in the same plan are gone, as the plugin knows from `on_deallocate`. Without it, every pod of the unit has to be
        given up at the point, in one call.
        """
        raise NotImplementedError

    def is_guaranteed(self, need: Need, unit: Unit) -> bool:  # noqa: ARG002
        """Whether the eviction of the unit would leave a queue with less than it is guaranteed.

        Not a point of its own: where gangs block each other, so that shares do not matter, it is asked instead of the
        point, of plugins that do more than protect pods.
        """
        return False

    def refused_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """[K] which candidates the plugin has refused to give up for the job of `task` in this cycle, for its message.

        Asked of plugins that do more than protect pods, once nothing was found to evict. None: the message of the job
        does not name the plugin.
        """
        return None

    def protected_by(self, rows: Rows) -> str:  # noqa: ARG002
        """What protects these task rows, which the plugin does not give up, as words for the message of a job that
        waits: `4 pods are protected …`. Asked of plugins that only protect, and of those with `refused_victims`."""
        return f"by plugin {self.name}"

    def victim_queue_order(self, queue: QueueInfo, preemptor: QueueInfo) -> Key:
        """Among queues that could lose pods to the queue `preemptor`; the smaller key loses first.

        Combined as `job_order`; then the last in queue order loses first. Not switchable.
        """
        raise NotImplementedError

    def victim_tasks(self, running: Rows) -> Mapping[int, str]:
        """Rows of running tasks to evict, whatever waits, each with the sentence that says why.

        Asked by shuffle. Inside a tier the answers unite; the first tier with any decides.
        """
        raise NotImplementedError

    def spared_tasks(self, victims: Rows) -> NDArray[np.bool_]:
        """[K] which victims of shuffle should stay, in any tier. One yes is enough."""
        raise NotImplementedError

    # -- events ------------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        """Tasks were allocated or pipelined, or an eviction was undone. All plugins are notified, after the ledger."""
        raise NotImplementedError

    def on_deallocate(self, placement: Placement) -> None:
        """Tasks were evicted, or an allocation was undone. All plugins are notified."""
        raise NotImplementedError


POINTS: Final = (
    "job_order",
    "queue_order",
    "queue_paths",
    "branch_order",
    "namespace_order",
    "task_order",
    "job_valid",
    "job_enqueueable",
    "job_enqueued",
    "job_ready",
    "tasks_to_ready",
    "job_pipelined",
    "job_starving",
    "overused",
    "allocatable",
    "preemptive",
    "task_variants",
    "pre_predicate",
    "predicate",
    "late_predicate",
    "predicate_room",
    "domain_filter",
    "predicate_advice",
    "node_order",
    "node_orders",
    "batch_node_order",
    "domain_order",
    "best_node",
    "hyper_node_gradient",
    "hyper_node_order",
    "gathering_order",
    "preemptable",
    "reclaimable",
    "victim_queue_order",
    "victim_tasks",
    "spared_tasks",
    "on_allocate",
    "on_deallocate",
)
"""All extension points; config.flags says which switch turns off which."""


def points_of(plugin: type[Plugin]) -> frozenset[str]:
    """The extension points that a plugin class overrides."""
    return frozenset(point for point in POINTS if getattr(plugin, point) is not getattr(Plugin, point))
