// A table of any length: only the rows in sight are in the document.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { redraw } from "./redraw.js";

const SPARE = 8; // rows above and below what is in sight
const tops = new Map();

const pixels = (height) =>
  height > 0 ? html`<tr aria-hidden="true" class="spacer"><td colspan="99" height=${height}></td></tr>` : nothing;

/**
 * A table. `columns`: [heading, class]; `row`: the cells of an item, as a template of <td>s; `key`: what sets items
 * apart; `tall`: sentences go over two lines.
 */
export function list({ name, label, columns, items, key, row, tall = false, mark = () => "" }) {
  const height = tall ? 58 : 36; // of a row, in pixels, as the style sheet has it
  const top = Math.min(tops.get(name) ?? 0, Math.max(0, items.length - 1));
  const shown = Math.ceil(innerHeight / height) + 2 * SPARE;
  const from = Math.max(0, top - SPARE);
  const seen = items.slice(from, from + shown);
  const scrolled = (event) => {
    const now = Math.floor(event.currentTarget.scrollTop / height);
    if (Math.abs(now - (tops.get(name) ?? 0)) >= SPARE / 2) {
      tops.set(name, now);
      redraw();
    }
  };
  return html`<div class=${tall ? "list tall" : "list"} tabindex="0" role="region" aria-label=${label} @scroll=${scrolled} @keydown=${walk}>
    <table aria-rowcount=${items.length + 1}>
      <caption class="unseen">${label}</caption>
      <thead>
        <tr>${columns.map(([heading, kind = ""]) => html`<th scope="col" class=${kind}>${heading}</th>`)}</tr>
      </thead>
      <tbody>
        ${pixels(from * height)}
        ${repeat(seen, key, (item, place) => html`<tr aria-rowindex=${from + place + 2} class=${mark(item)}>${row(item)}</tr>`)}
        ${pixels((items.length - from - seen.length) * height)}
      </tbody>
    </table>
  </div>`;
}

// The arrow keys go from one row's link to the next.
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches("td a")) return;
  const links = [...event.currentTarget.querySelectorAll("td:first-child a")];
  const at = links.indexOf(event.target.closest("tr").querySelector("td:first-child a"));
  const next = links[at + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}
