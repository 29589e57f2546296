// Queues: the tree with its amounts as bars, loans between queues, and one queue by itself.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { cluster, rows, tables } from "../parts/store.js";
import { amounts, counted, number, ordered, resourcesOf } from "../parts/amounts.js";
import { legend, standing, standingText } from "../parts/bar.js";
import { link, place, queueLink, set } from "../parts/places.js";
import { list } from "../parts/list.js";

const inOrder = () => rows("queues").sort((a, b) => a.order - b.order);

function chosen(query, all) {
  const names = resourcesOf(all);
  const asked = query.get("resource");
  return [names.includes(asked) ? asked : names[0], names];
}

const depth = (queue) => `depth-${Math.min(queue.depth ?? 0, 8)}`;

const row = (queue, resource, scale) => html`
  <td class=${depth(queue)}><a href=${queueLink(queue.name)}>${queue.name}</a>
    ${queue.state && queue.state !== "Open" ? html` <span class="tag">${queue.state}</span>` : nothing}
    ${queue.problem ? html` <span class="tag problem">no place in the tree</span>` : nothing}</td>
  <td class="wide">${standing(queue, resource, scale)}<span class="unseen">${standingText(queue, resource)}</span></td>
  ${["allocated", "promised", "guarantee", "deserved", "capability"].map(
    (what) => html`<td class=${`number ${what}`}>${cell(queue, what, resource)}</td>`,
  )}
  <td class="number">${queue.running ?? 0}</td>
  <td class="number">${queue.waiting ? html`<a href=${link(["jobs"], { queue: queue.name, state: "waits" })}>${queue.waiting}</a>` : 0}</td>`;

function cell(queue, what, resource) {
  const value = queue[what]?.[resource];
  if (value !== undefined) return number(resource, value);
  return what === "capability" ? html`<span class="quiet">unlimited</span>` : "0";
}

/** [lending queue, resource, borrowers]: queues that hold something of what another one deserves and asks for. */
function loans() {
  const all = rows("queues", (queue) => queue.leaf !== false);
  const found = [];
  for (const lender of all) {
    for (const resource of ordered(Object.keys(lender.lent ?? {}))) {
      const borrowers = all.filter((each) => each.name !== lender.name && each.borrowed?.[resource]);
      if (borrowers.length) found.push([lender, resource, borrowers]);
    }
  }
  return found.slice(0, 200);
}

const loan = ([lender, resource, borrowers]) => html`<tr>
  <th scope="row"><a href=${queueLink(lender.name)}>${lender.name}</a></th>
  <td>${number(resource, lender.lent[resource])} ${resource}</td>
  <td>${borrowers.map(
    (each, at) => html`${at ? ", " : ""}<a href=${queueLink(each.name)}>${each.name}</a>
      (${number(resource, each.borrowed[resource])} beyond what it deserves${each.reclaimable === false ? "; not reclaimable" : ""})`,
  )}</td>
</tr>`;

function borrowing(all) {
  const found = loans();
  if (!found.length) return html`<p>No queue holds what another one deserves and asks for.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Loans"><table>
      <thead><tr><th scope="col">Queue</th><th scope="col">Lends</th><th scope="col">Held by</th></tr></thead>
      <tbody>${found.map(loan)}</tbody></table></div>
    ${all.reclaims ? nothing : html`<p>Nothing is taken back: the configuration has no action reclaim.</p>`}`;
}

/** Queue that does not exist → the jobs that name it; none where no queue but root, which is always there, can be seen.
 *  A job that has just come may know a queue that is not in the table yet. */
function missing() {
  if (![...tables.queues.keys()].some((name) => name !== "root")) return new Map();
  const named = rows("jobs", (job) => job.queue && !tables.queues.has(job.queue) && (job.reason === "QueueNotFound" || job.placed));
  return Map.groupBy(named, (job) => job.queue);
}

/** What the jobs hold together. */
function held(jobs) {
  const sums = {};
  for (const job of jobs) for (const [resource, value] of Object.entries(job.allocated ?? {})) sums[resource] = (sums[resource] ?? 0) + value;
  return sums;
}

const jobsOf = (name, count, state) => (count ? html`<a href=${link(["jobs"], { queue: name, ...state })}>${count}</a>` : 0);

function lost([name, jobs]) {
  const waiting = jobs.filter((job) => job.reason).length;
  return html`<tr>
    <th scope="row"><a href=${queueLink(name)}>${name}</a></th>
    <td class="number">${jobsOf(name, jobs.length - waiting)}</td>
    <td class="number">${jobsOf(name, waiting, { state: "waits" })}</td>
    <td>${amounts(held(jobs))}</td>
  </tr>`;
}

function thatDoNotExist() {
  const found = [...missing()].sort(([a], [b]) => a.localeCompare(b));
  if (!found.length) return nothing;
  return html`<section aria-labelledby="missing"><h2 id="missing">Queues that do not exist</h2>
    <p>Jobs name these queues. Those that wait can start when their queue is created, or when they name another one.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Queues that jobs name"><table>
      <thead><tr><th scope="col">Queue</th><th scope="col" class="number">Jobs that run</th><th scope="col" class="number">Jobs that wait</th>
        <th scope="col">Held</th></tr></thead>
      <tbody>${found.slice(0, 200).map(lost)}</tbody></table></div></section>`;
}

function absent(name) {
  const jobs = missing().get(name) ?? [];
  return html`<p class="crumbs"><a href=${link(["queues"])}>Queues</a></p>
    <h1>Queue ${name}</h1>
    <p class="problem" role="alert">There is no queue ${name}.${jobs.length
      ? html` ${jobsOf(name, counted(jobs.length, "job"))} ${jobs.length === 1 ? "names" : "name"} it.`
      : nothing}</p>`;
}

function one(name) {
  const queue = tables.queues.get(name);
  if (!queue) return absent(name);
  const facts = [
    ["Holds", amounts(queue.allocated)],
    ["Asks for", amounts(queue.request)],
    ["Promised to admitted jobs", amounts(queue.promised)],
    ["Guarantee", amounts(queue.guarantee)],
    ["Deserves", amounts(queue.deserved)],
    ["Capability", Object.keys(queue.capability ?? {}).length ? amounts(queue.capability) : "unlimited"],
    ["Borrows", amounts(queue.borrowed)],
    ["Lends", amounts(queue.lent)],
    ["Weight", queue.weight ?? 1],
    ["Share", (queue.share ?? 0).toFixed(2)],
    ["Reclaimable", queue.reclaimable === false ? "no" : "yes"],
  ];
  const below = inOrder().filter((each) => each.parent === name);
  const all = cluster();
  return html`<p class="crumbs">${above(queue)}</p>
    <h1>Queue ${name} ${queue.state ? html`<span class="tag">${queue.state}</span>` : nothing}</h1>
    ${queue.problem ? html`<p class="problem" role="alert">${queue.problem}</p>` : nothing}
    ${(queue.ignored ?? []).map((each) => html`<p class="problem">${each}</p>`)}
    <p><a href=${link(["jobs"], { queue: name })}>${(queue.running ?? 0) + (queue.waiting ?? 0)} jobs</a>,
      <a href=${link(["jobs"], { queue: name, state: "waits" })}>${queue.waiting ?? 0} of them waiting</a></p>
    ${legend()}
    <div class="stack">${ordered(Object.keys(all.allocatable)).map(
      (resource) => html`<div><strong>${resource}</strong> ${standing(queue, resource, all.allocatable[resource])}
        <span class="small">${standingText(queue, resource)}</span></div>`,
    )}</div>
    <dl>${facts.map(([term, text]) => html`<div><dt>${term}</dt><dd>${text}</dd></div>`)}</dl>
    ${below.length
      ? html`<h2>Queues below it</h2><ul>${below.map(
          (each) => html`<li><a href=${queueLink(each.name)}>${each.name}</a>: ${amounts(each.allocated)}</li>`,
        )}</ul>`
      : nothing}`;
}

function above(queue) {
  const found = [];
  for (let at = tables.queues.get(queue.parent); at; at = tables.queues.get(at.parent)) found.unshift(at);
  return html`<a href=${link(["queues"])}>Queues</a>${found.map(
    (each) => html` / <a href=${queueLink(each.name)}>${each.name}</a>`,
  )}`;
}

export function queues([name], query) {
  if (name) return one(name);
  const all = cluster();
  const [resource, names] = chosen(query, all);
  const text = (query.get("text") ?? "").toLowerCase();
  const items = inOrder().filter((queue) => queue.name.toLowerCase().includes(text));
  return html`<h1>Queues</h1>
    <form class="filters" @submit=${(event) => event.preventDefault()}>
      <label>Resource <select @change=${(event) => set("resource", event.target.value)}>
        ${names.map((each) => html`<option ?selected=${each === resource}>${each}</option>`)}</select></label>
      <label>Name <input type="search" .value=${place().query.get("text") ?? ""} @input=${(event) => set("text", event.target.value)}></label>
    </form>
    ${legend()}
    ${list({
      name: "queues",
      label: `Queues and their ${resource}`,
      columns: [["Queue"], ["Use", "wide"], ["Held", "number allocated"], ["Promised", "number promised"], ["Guarantee", "number guarantee"],
        ["Deserved", "number deserved"], ["Capability", "number capability"], ["Run", "number"], ["Wait", "number"]],
      items,
      key: (queue) => queue.name,
      row: (queue) => row(queue, resource, all.allocatable[resource]),
    })}
    ${thatDoNotExist()}
    <section aria-labelledby="loans"><h2 id="loans">Loans between queues</h2>${borrowing(all)}</section>`;
}
