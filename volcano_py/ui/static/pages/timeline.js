// Timeline: shares of queues, use of resources and waits since the page was started, an hour at most.

import { html } from "../vendor/lit-html/lit-html.js";
import { cluster, rows } from "../parts/store.js";
import { moment, percent } from "../parts/amounts.js";
import { plot } from "../parts/plot.js";

const names = (samples, what) => [...new Set(samples.flatMap((sample) => Object.keys(sample[what] ?? {})))].sort();
const column = (samples, what, name) => samples.map((sample) => sample[what]?.[name] ?? 0);

function chart(title, samples, what, text) {
  const series = names(samples, what);
  const last = samples.at(-1);
  return html`<section><h2>${title}</h2>
    ${series.length
      ? html`${plot(what, samples.map((sample) => sample.at), series, series.map((name) => column(samples, what, name)), text)}
          <details><summary>As a table</summary>
            <div class="scroll" tabindex="0" role="region" aria-label=${title}><table>
              <thead><tr><th scope="col">When</th>${series.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
              <tbody>${samples.slice(-30).reverse().map(
                (sample) => html`<tr><th scope="row">${moment(sample.at)}${sample.cycle ? ` (cycle ${sample.cycle})` : ""}</th>${series.map(
                  (name) => html`<td class="number">${text(sample[what]?.[name] ?? 0)}</td>`)}</tr>`)}</tbody></table></div></details>`
      : html`<p>Nothing to show${last ? ` until ${moment(last.at)}` : ""}.</p>`}
  </section>`;
}

export function timeline() {
  const samples = rows("timeline").sort((a, b) => a.at - b.at);
  return html`<h1>Timeline</h1>
    <p>${cluster().recorded
      ? html`The whole record. The page shows the cluster as one cycle found it; <code>--at CYCLE</code> shows another one.`
      : "A sample every ten seconds since the page was started, an hour at most."}</p>
    ${chart("Resources in use", samples, "used", percent)}
    ${chart("Shares of queues", samples, "shares", percent)}
    ${chart("Jobs that wait, by reason", samples, "waiting", String)}`;
}
