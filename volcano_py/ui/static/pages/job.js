// One job: how it stands, what would help, its limits as a chain, its gang, who runs instead, and its history.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { cluster, tables } from "../parts/store.js";
import { amounts, counted, duration, moment, number } from "../parts/amounts.js";
import { usage } from "../parts/bar.js";
import { jobName, jobNamed } from "../parts/job-name.js";
import { nodeLink, queueLink, link } from "../parts/places.js";
import { asked, drawn } from "../parts/ask.js";

const NUMBERLESS = new Set(["gang", "nodes", "object"]);

/** Its numbers in words. */
function sums(each, resource) {
  const shown = (value, what) => (value === undefined || value === null ? [] : [`${what} ${number(resource, value)}`]);
  return [
    `${resource}: ${number(resource, each.used ?? 0)} used${each.promised ? ` + ${number(resource, each.promised)} promised` : ""} + ${number(resource, each.asked ?? 0)} asked`,
    each.limit === undefined || each.limit === null ? "unlimited" : `at most ${number(resource, each.limit)}`,
    ...shown(each.deserved, "deserves"),
    ...shown(each.keptForOthers || undefined, "kept for others"),
  ];
}

function limit(each) {
  const resource = (each.resource ?? "").replace(/^(requests|limits)\./, "");
  const plain = NUMBERLESS.has(each.kind) || !resource;
  const [used, wanted] = [each.used ?? 0, each.asked ?? 0];
  const most = each.limit ?? null;
  return html`<li class=${each.binding ? "binding" : ""}>
    <strong>${each.kind} ${each.name}</strong>${each.binding ? html` <span class="tag waiting">keeps it out</span>` : nothing}
    ${plain
      ? html`<span class="small">${each.note}</span>`
      : html`${most === null ? nothing : usage(used, most, wanted)}
          <span class="small">${sums(each, resource).join(", ")}${each.note ? `; ${each.note}` : ""}</span>`}
  </li>`;
}

const part = (title, content) => html`<section><h2>${title}</h2>${content}</section>`;

function remedies(found) {
  const texts = (found.remedies ?? []).map((each) => each.text);
  return part(
    "What would help",
    texts.length
      ? html`<p>Each has been tried on a copy: with it alone the job starts.</p>
          <ul class="remedies">${texts.map((text) => html`<li>${text}</li>`)}</ul>`
      : html`<p>Nothing of what was tried${found.triedAll === false ? " and is shown to you" : ""} makes it start.</p>`,
  );
}

function nodes(found) {
  const near = (each) => [each.refusal, each.lacks ? `lacks ${amounts(each.lacks)}` : ""].filter(Boolean).join(", ");
  return part(
    "Nodes",
    html`<p>${found.takes} of ${counted(found.total, "node")} would take pod ${found.pod} now.</p>
      <ul>${Object.entries(found.refusals ?? {}).map(([text, count]) => html`<li>${counted(count, "node")}: ${text}</li>`)}</ul>
      ${found.takes || !found.nearest?.length
        ? nothing
        : html`<p>Nearest:</p><ul>${found.nearest.map(
            (each) => html`<li><a href=${nodeLink(each.node)}>${each.node}</a>: ${near(each)}</li>`,
          )}</ul>`}`,
  );
}

function position(found) {
  const more = found.place - 1 - (found.ahead?.length ?? 0);
  return part(
    "Position",
    html`<p>Number ${found.place} of ${found.waiting} waiting in queue <a href=${queueLink(found.queue)}>${found.queue}</a>
        (priority ${found.priority}); its queue is number ${found.queuePlace} of ${found.queues} (share ${found.queueShare.toFixed(2)}).</p>
      ${found.ahead?.length
        ? html`<p>Ahead of it, asking for ${amounts(found.before)}:</p><ol>${found.ahead.map(
            (each) => html`<li>${jobNamed(each.name)} (priority ${each.priority}, ${counted(each.pods, "pod")})</li>`,
          )}${more > 0 ? html`<li>and ${more} more</li>` : nothing}</ol>`
        : nothing}`,
  );
}

const holders = (found) =>
  part(
    "Who runs instead",
    html`<div class="scroll" tabindex="0" role="region" aria-label="Who runs instead"><table>
      <thead><tr><th scope="col">Job</th><th scope="col">Queue</th><th scope="col" class="number">Priority</th><th scope="col">Holds</th>
        <th scope="col">Its queue holds</th><th scope="col">of deserved</th><th scope="col">Why it stays</th></tr></thead>
      <tbody>${found.map(
        (each) => html`<tr><th scope="row">${jobNamed(each.job)}</th>
          <td><a href=${queueLink(each.queue)}>${each.queue}</a></td><td class="number">${each.priority}</td>
          <td>${amounts(each.holds)}</td><td>${amounts(each.queueAllocated)}</td><td>${amounts(each.queueDeserved)}</td>
          <td class="sentence">${each.stays || "It may be evicted, but that would not make enough room."}</td></tr>`,
      )}</tbody></table></div>`,
  );

function forecast(found) {
  const when = found.at
    ? html`<p>In ${duration(found.seconds)}, at ${moment(Date.parse(found.at) / 1000)}${found.after?.length ? `, when ${found.after.slice(0, 5).join(", ")} end` : ""}; ${found.why}.</p>`
    : html`<p>None: ${found.why}.</p>`;
  return part("Forecast", when);
}

const history = (found) =>
  part("History", html`<ol class="history">${found.map(
    (each) => html`<li><time datetime=${each.at}>${moment(Date.parse(each.at) / 1000)}</time> ${each.object}: ${each.text}${each.since ? ` (first at ${moment(Date.parse(each.since) / 1000)})` : ""}</li>`,
  )}</ol>`);

/** Squares, one a pod, by node: those without a node first. */
function gang(pods) {
  if (!pods.length) return html`<p>It has no pods yet.</p>`;
  const places = [...Map.groupBy(pods, (pod) => pod.node)].sort((a, b) => a[0].localeCompare(b[0]));
  return html`<ul class="gang">${places.map(
    ([node, there]) => html`<li><span class="where">${node ? html`<a href=${nodeLink(node)}>${node}</a>` : "no node"}</span>
      <ul class="squares">${there.map(
        (pod) => html`<li class=${`square ${pod.node ? pod.phase.toLowerCase() : "waiting"}`} title=${`${pod.name}: ${pod.phase}`}>
          <span class="unseen">${pod.name}: ${pod.node ? pod.phase : "waits"}</span></li>`,
      )}</ul></li>`,
  )}</ul>
  <ul class="legend" aria-label="Colours of the squares"><li><span class="square running"></span>runs</li>
    <li><span class="square pending"></span>has a node, starts</li><li><span class="square waiting"></span>waits</li>
    <li><span class="square terminating"></span>terminates</li><li><span class="square succeeded"></span>has ended</li></ul>`;
}

function explained(found) {
  const now = found.now;
  return html`
    <p class="verdict">${now.reason ? html`<strong>${now.reason}</strong>: ${now.message.replace(`${now.reason}: `, "")}` : nothing}</p>
    <p>${now.running} of ${counted(now.wanted, "pod")} placed${now.since ? html`, ${now.state.toLowerCase()} since ${moment(Date.parse(now.since) / 1000)}` : nothing}.</p>
    ${(now.lostNodes ?? []).map((each) => html`<p>${each}</p>`)}
    ${[...(now.ignored ?? []), ...(now.ignoredOfQueues ?? [])].map((each) => html`<p class="small">Ignored: ${each}</p>`)}
    ${(now.hints ?? []).map((each) => html`<p class="small">Hint: ${each}</p>`)}
    ${cluster().hidden?.length ? (found.unread ?? []).map((each) => html`<p class="small">${each}</p>`) : nothing}
    ${now.reason && now.reported
      ? html`<p class="small">The scheduler has written this reason. Nothing more is worked out, because you may not list pods, PodGroups,
          queues or nodes.</p>`
      : nothing}
    ${now.reason && !now.reported ? remedies(found) : nothing}
    ${found.limits?.length ? part("Limits", html`<ol class="chain">${found.limits.map(limit)}</ol>`) : nothing}
    ${found.nodes ? nodes(found.nodes) : nothing}
    ${found.position ? position(found.position) : nothing}
    ${found.holders?.length ? holders(found.holders) : nothing}
    ${found.forecast ? forecast(found.forecast) : nothing}
    ${found.history?.length ? history(found.history) : nothing}`;
}

export function job(key) {
  const row = tables.jobs.get(key);
  const path = key.split("/").map(encodeURIComponent).join("/");
  const title = html`<p class="crumbs"><a href=${link(["jobs"])}>Jobs</a></p>
    <h1>${jobName(key)} ${row ? html`<span class=${`tag ${row.state.toLowerCase().replace(" ", "-")}`}>${row.state}</span>` : nothing}</h1>`;
  if (!row) return html`${title}<p class="problem" role="alert">There is no job ${key} any more.</p>`;
  return html`${title}
    <p>${row.hasGroup === false ? "No PodGroup yet" : `PodGroup ${key.split("/")[1]}`}, queue <a href=${queueLink(row.queue)}>${row.queue}</a>, priority ${row.priority ?? 0},
      at least ${counted(row.minimum ?? 0, "pod")} at once. Holds ${amounts(row.allocated)}.</p>
    ${drawn(asked(`/api/explain/podgroup/${path}`, row), explained)}
    <section><h2>Gang</h2>${drawn(asked(`/api/pods/${path}`, row), gang, "Loading …")}</section>`;
}
