// Evictions: which pod went for which, when, and why.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { rows } from "../parts/store.js";
import { counted, moment } from "../parts/amounts.js";
import { set } from "../parts/places.js";
import { list } from "../parts/list.js";

const row = (each) => html`
  <td>${each.pod}</td>
  <td><time datetime=${new Date(each.at * 1000).toISOString()}>${moment(each.at)}</time></td>
  <td class="optional">${each.action}</td>
  <td>${each.claimant || "–"}</td>
  <td class="sentence"><div>${each.why}</div></td>`;

export function evictions(_path, query) {
  const text = (query.get("text") ?? "").toLowerCase();
  const items = rows("evictions", (each) => !text || `${each.pod} ${each.claimant} ${each.why}`.toLowerCase().includes(text)).sort(
    (a, b) => b.at - a.at || a.pod.localeCompare(b.pod),
  );
  return html`<h1>Evictions</h1>
    <p>As the events of the API server say, which keeps them for an hour, and since this page was started.</p>
    <form class="filters" @submit=${(event) => event.preventDefault()}>
      <label>Contains <input type="search" .value=${query.get("text") ?? ""} @input=${(event) => set("text", event.target.value)}></label>
    </form>
    <p role="status">${counted(items.length, "eviction")}</p>
    ${items.length
      ? list({
          name: "evictions",
          label: "Evictions",
          columns: [["Pod"], ["When"], ["Action", "optional"], ["For pod"], ["Why", "sentence"]],
          items,
          key: (each) => each.key,
          row,
          tall: true,
        })
      : nothing}`;
}
