// Jobs: the list with its filters, and one job.

import { html } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";
import { cluster, rows, tables } from "../parts/store.js";
import { age, counted } from "../parts/amounts.js";
import { jobName, jobNamed } from "../parts/job-name.js";
import { queueLink, set } from "../parts/places.js";
import { list } from "../parts/list.js";
import { job } from "./job.js";

const ORDER = { Waiting: 0, "Partly running": 1, New: 2, Starting: 3, Running: 4, Completed: 5 };
const STATES = [["", "all"], ["waits", "those that wait"], ...Object.keys(ORDER).map((name) => [name, name])];

const namespace = (each) => each.key.split("/")[0];
const different = (values) => [...new Set(values)].filter(Boolean).sort();

/** Names of the queue and of all below it. */
function withBelow(name) {
  const found = new Set([name]);
  for (const queue of rows("queues").sort((a, b) => a.order - b.order)) if (found.has(queue.parent)) found.add(queue.name);
  return found;
}

function kept(query) {
  const queues = query.get("queue") ? withBelow(query.get("queue")) : undefined;
  const text = (query.get("text") ?? "").toLowerCase();
  const [space, reason, state] = ["namespace", "reason", "state"].map((name) => query.get(name));
  return rows(
    "jobs",
    (each) =>
      (!queues || queues.has(each.queue)) &&
      (!space || namespace(each) === space) &&
      (!reason || each.reason === reason) &&
      (!state || (state === "waits" ? Boolean(each.reason) : each.state === state)) &&
      (!text || each.key.toLowerCase().includes(text) || jobName(each.key).toLowerCase().includes(text)),
  ).sort((a, b) => ORDER[a.state] - ORDER[b.state] || (b.priority ?? 0) - (a.priority ?? 0) || (a.created ?? 0) - (b.created ?? 0));
}

const now = () => (cluster().live === false ? cluster().moment : undefined);

const row = (each) => html`
  <td>${jobNamed(each.key)}</td>
  <td><span class=${`tag ${each.state.toLowerCase().replace(" ", "-")}`}>${each.state}</span></td>
  <td><a href=${queueLink(each.queue)}>${each.queue}</a></td>
  <td class="number">${each.placed ?? 0}/${(each.placed ?? 0) + (each.waiting ?? 0)}</td>
  <td class="number optional">${each.minimum ?? 0}</td>
  <td class="number optional">${each.priority ?? 0}</td>
  <td class="number optional">${age(each.created, now())}</td>
  <td class="sentence" title=${each.message ?? ""}>${each.reason ? html`<strong>${each.reason}</strong>: ${each.message}` : ""}</td>`;

const choice = (label, name, query, values) => html`<label>${label}
  <select .value=${live(query.get(name) ?? "")} @change=${(event) => set(name, event.target.value)}>
    ${values.map(([value, text]) => html`<option value=${value} ?selected=${value === (query.get(name) ?? "")}>${text}</option>`)}
  </select></label>`;

const options = (values) => [["", "all"], ...values.map((value) => [value, value])];

export function jobs(path, query) {
  if (path.length === 2) return job(path.join("/"));
  const all = rows("jobs");
  const items = kept(query);
  const withChosen = (name, values) => different([...values, query.get(name)]);
  return html`<h1>Jobs</h1>
    <form class="filters" @submit=${(event) => event.preventDefault()}>
      ${choice("Show", "state", query, STATES)}
      ${choice("Queue", "queue", query, options(withChosen("queue", tables.queues.keys())))}
      ${choice("Namespace", "namespace", query, options(withChosen("namespace", all.map(namespace))))}
      ${choice("Reason", "reason", query, options(withChosen("reason", all.map((each) => each.reason))))}
      <label>Name <input type="search" .value=${live(query.get("text") ?? "")} @input=${(event) => set("text", event.target.value)}></label>
    </form>
    <p role="status">${items.length === all.length ? counted(all.length, "job") : `${items.length} of ${counted(all.length, "job")}`}</p>
    ${list({
      name: "jobs",
      label: "Jobs",
      columns: [["Job"], ["State"], ["Queue"], ["Pods placed", "number"], ["Minimum", "number optional"],
        ["Priority", "number optional"], ["Age", "number optional"], ["Why it waits", "sentence"]],
      items,
      key: (each) => each.key,
      row,
    })}`;
}
