// Configuration: actions, tiers, what is wrong with it, and a plan for an edit.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { configuration } from "../parts/store.js";
import { answerOf, drawn, send } from "../parts/ask.js";
import { difference } from "../parts/difference.js";

let edited;

const plugin = (each) => html`<li><strong>${each.name}</strong>
  ${Object.entries(each.says ?? {}).map(([key, value]) => html`<div class="small"><code>${key}: ${value}</code></div>`)}</li>`;

const finding = (each) => html`<li class=${each.severity === "error" ? "problem" : ""}>
  <strong>${each.severity}</strong>${each.line ? html`, line ${each.line}` : nothing}${each.path ? html`, <code>${each.path}</code>` : nothing}: ${each.message}</li>`;

function findings(found) {
  if (!found.findings?.length && !found.ignored?.length) return html`<p class="good">Nothing is wrong with it.</p>`;
  return html`<ul>${(found.findings ?? []).map(finding)}${(found.ignored ?? []).map((each) => html`<li>${each}</li>`)}</ul>`;
}

export function settings() {
  const found = configuration();
  if (!found) return html`<h1>Configuration</h1><p>It is not yours to see.</p>`;
  const plan = (event) => {
    event.preventDefault();
    edited = event.target.elements.text.value;
    send("plan", "/api/plan", { text: edited });
  };
  return html`<h1>Configuration</h1>
    <p>${found.source}${found.inUse ? "" : html` <span class="problem">is invalid: shown is the last valid one</span>`}</p>
    <section aria-labelledby="actions"><h2 id="actions">Actions, in their order</h2>
      <ol class="flow">${(found.actions ?? []).map((each) => html`<li>${each}</li>`)}</ol></section>
    <section aria-labelledby="tiers"><h2 id="tiers">Tiers</h2>
      <ol class="tiers">${(found.tiers ?? []).map((tier) => html`<li><ul>${tier.map(plugin)}</ul></li>`)}</ol></section>
    <section aria-labelledby="findings"><h2 id="findings">Findings</h2>${findings(found)}</section>
    <section aria-labelledby="edit"><h2 id="edit">Plan an edit</h2>
      <p>The scheduler runs on a copy, by the configuration as it is and as you write it here. Nothing is written.</p>
      <form @submit=${plan}>
        <label for="text">volcano-scheduler.conf</label>
        <textarea id="text" name="text" rows="16" spellcheck="false" .defaultValue=${edited ?? found.text}></textarea>
        <button ?disabled=${answerOf("plan")?.asking}>Show what would change</button>
      </form>
      ${drawn(answerOf("plan"), difference)}
    </section>`;
}
