// What a trial has found: as `volcano-py what-if -o json` and `config plan -o json` have it.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { readable } from "./amounts.js";
import { jobNamed } from "./job-name.js";
import { queueLink } from "./places.js";

const state = (one) =>
  [one.placed ? `${one.placed} placed` : "", one.waiting ? `${one.waiting} wait${one.reason ? `: ${one.reason}` : ""}` : ""].filter(Boolean).join(", ") || "–";

const table = (title, headings, rows) =>
  rows.length
    ? html`<section><h3>${title}</h3><div class="scroll" tabindex="0" role="region" aria-label=${title}><table>
        <thead><tr>${headings.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
        <tbody>${rows}</tbody></table></div></section>`
    : nothing;

const work = (each) => html`<tr>
  <th scope="row">${jobNamed(each.podGroup)}</th>
  <td>${state(each.before)}</td><td>${state(each.after)}</td><td class="sentence">${each.after.message ?? ""}</td></tr>`;

const evicted = (each) => html`<tr><th scope="row">${each.pod}</th><td>${each.action}</td><td class="sentence">${each.why}</td></tr>`;

/** Leaves of nested objects: [names…, {before, after}]. */
function* leaves(value, names = []) {
  if (value && typeof value === "object" && "before" in value && "after" in value) yield [names, value];
  else for (const [name, below] of Object.entries(value ?? {})) yield* leaves(below, [...names, name]);
}

const text = (what, value) => (what === "share" ? value : readable(what, value));

const amount = (head) => ([names, value]) => html`<tr>
  <th scope="row">${head(names)}</th><td>${text(names.at(-1), value.before)}</td><td>${text(names.at(-1), value.after)}</td></tr>`;

function inShort(found) {
  const sum = (work) => found.work.reduce((total, each) => total + Math.max(0, work(each)), 0);
  const counts = [
    [sum((each) => each.after.placed - each.before.placed), "newly placed"],
    [sum((each) => each.before.placed - each.after.placed), "no longer placed"],
    [sum((each) => each.after.waiting - each.before.waiting), "more waiting"],
    [found.evictions.length, "more evicted"],
    [found.noLongerEvicted.length, "fewer evicted"],
  ].filter(([count]) => count);
  return `Pods: ${counts.map(([count, what]) => `${count} ${what}`).join(", ") || "no difference"}.`;
}

export function difference(found) {
  if (!found.changes) return html`<p class="good" role="status">Nothing changes.</p>${warnings(found)}`;
  return html`<p role="status"><strong>${inShort(found)}</strong></p>
    ${warnings(found)}
    ${found.settled ? nothing : html`<p class="problem">The cluster had not settled when the trial was ended: more may change.</p>`}
    ${table("Work", ["Job", "Without", "With", "Why it waits"], found.work.map(work))}
    ${table("Evicted", ["Pod", "By", "Why"], found.evictions.map(evicted))}
    ${table("No longer evicted", ["Pod", "By", "Why"], found.noLongerEvicted.map(evicted))}
    ${table("Queues", ["Queue", "Without", "With"], [...leaves(found.queues)].map(
      amount(([name, ...what]) => html`<a href=${queueLink(name)}>${name}</a> ${what.join(" ")}`)))}
    ${table("Idle", ["Resource", "Without", "With"], [...leaves(found.idle)].map(amount((names) => names.join(" "))))}`;
}

const warnings = (found) => (found.warnings ?? []).map((each) => html`<p class="problem">${each}</p>`);
