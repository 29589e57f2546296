// Overview: what is used, promised and idle, by queue; and what waits, by reason.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { cluster, rows } from "../parts/store.js";
import { amounts, counted, number, ordered, percent } from "../parts/amounts.js";
import { legend, standing, standingText, usage } from "../parts/bar.js";
import { jobNamed } from "../parts/job-name.js";
import { link, queueLink } from "../parts/places.js";

const resources = (all) => ordered(Object.keys(all.allocatable)).filter((name) => name !== "pods");

function resource(all, name) {
  const total = all.allocatable[name];
  const [used, promised, idle] = [all.used, all.promised, all.idle].map((values) => values?.[name] ?? 0);
  if (all.useShown === false) {
    return html`<tr><th scope="row">${name}</th><td class="wide quiet">not yours to see</td><td class="number">–</td>
      <td class="number">${number(name, promised)}</td><td class="number">–</td><td class="number">${number(name, total)}</td></tr>`;
  }
  return html`<tr>
    <th scope="row">${name}</th>
    <td class="wide">${usage(used, total, promised)}</td>
    <td class="number">${number(name, used)} <span class="quiet">(${percent(used / total)})</span></td>
    <td class="number">${number(name, promised)}</td>
    <td class="number">${number(name, idle)}</td>
    <td class="number">${number(name, total)}</td>
  </tr>`;
}

/** [reason, jobs that wait for it], the most frequent first. */
function reasons() {
  const found = Map.groupBy(rows("jobs", (job) => job.reason), (job) => job.reason);
  return [...found].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]));
}

const pods = (jobs) => jobs.reduce((sum, job) => sum + (job.waiting ?? 0), 0);

const reason = ([name, jobs]) => html`<tr>
  <th scope="row"><a href=${link(["jobs"], { reason: name })}>${name}</a></th>
  <td class="number">${jobs.length}</td>
  <td class="number">${pods(jobs)}</td>
  <td class="sentence">${jobNamed(jobs[0].key)}: ${jobs[0].message}</td>
</tr>`;

function queue(each, all, names) {
  return html`<tr>
    <th scope="row"><a href=${queueLink(each.name)}>${each.name}</a></th>
    ${names.map(
      (name) => html`<td class="wide">${standing(each, name, all.allocatable[name])}
        <span class="small">${standingText(each, name)}</span></td>`,
    )}
    <td class="number">${each.running ?? 0}</td>
    <td class="number">${each.waiting ? html`<a href=${link(["jobs"], { queue: each.name, state: "waits" })}>${each.waiting}</a>` : 0}</td>
  </tr>`;
}

export function overview() {
  const all = cluster();
  const names = resources(all);
  const waits = reasons();
  const top = rows("queues", (each) => each.depth === 1 || (!each.depth && each.name !== "root"));
  const busiest = top.sort((a, b) => (b.waiting ?? 0) - (a.waiting ?? 0) || b.share - a.share || a.order - b.order);
  const shown = busiest.slice(0, 20).sort((a, b) => a.order - b.order);
  return html`<h1>Overview</h1>
    <p>${counted(all.nodes, "node")}, ${counted(all.running, "pod")} placed, ${counted(all.waiting, "pod")} waiting.
      ${all.useShown === false ? nothing : html`Idle: ${amounts(all.idle)}.`}</p>
    <section aria-labelledby="resources"><h2 id="resources">Resources</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="Resources of the cluster"><table>
        <thead><tr><th scope="col">Resource</th><th scope="col" class="wide">Use</th><th scope="col" class="number">Used</th>
          <th scope="col" class="number">Promised</th><th scope="col" class="number">Idle</th><th scope="col" class="number">All</th></tr></thead>
        <tbody>${names.map((name) => resource(all, name))}</tbody></table></div>
    </section>
    <section aria-labelledby="waits"><h2 id="waits">What waits, and why</h2>
      ${waits.length
        ? html`<div class="scroll" tabindex="0" role="region" aria-label="Reasons"><table>
            <thead><tr><th scope="col">Reason</th><th scope="col" class="number">Jobs</th><th scope="col" class="number">Pods</th>
              <th scope="col">One of them</th></tr></thead>
            <tbody>${waits.map(reason)}</tbody></table></div>`
        : html`<p class="good">Nothing waits.</p>`}
    </section>
    <section aria-labelledby="by-queue"><h2 id="by-queue">By queue</h2>
      ${legend()}
      <div class="scroll" tabindex="0" role="region" aria-label="Queues"><table>
        <thead><tr><th scope="col">Queue</th>${names.map((name) => html`<th scope="col" class="wide">${name}</th>`)}
          <th scope="col" class="number">Jobs that run</th><th scope="col" class="number">Jobs that wait</th></tr></thead>
        <tbody>${shown.map((each) => queue(each, all, names))}</tbody></table></div>
      ${busiest.length > shown.length
        ? html`<p><a href=${link(["queues"])}>All ${busiest.length} queues below root</a></p>`
        : nothing}
    </section>`;
}
