// The page: its head, the way from an address to what is shown, and when it is drawn.

import { html, render, nothing } from "./vendor/lit-html/lit-html.js";
import { cluster, connection, follow, leave, onChange, visitor } from "./parts/store.js";
import { link, place } from "./parts/places.js";
import { drawWith, redraw } from "./parts/redraw.js";
import { moment } from "./parts/amounts.js";
import { overview } from "./pages/overview.js";
import { queues } from "./pages/queues.js";
import { jobs } from "./pages/jobs.js";
import { nodes } from "./pages/nodes.js";
import { evictions } from "./pages/evictions.js";
import { settings } from "./pages/configuration.js";
import { whatIf } from "./pages/what-if.js";
import { timeline } from "./pages/timeline.js";

const PAGES = {
  overview: ["Overview", overview],
  queues: ["Queues", queues],
  jobs: ["Jobs", jobs],
  nodes: ["Nodes", nodes],
  evictions: ["Evictions", evictions],
  configuration: ["Configuration", settings],
  "what-if": ["What if", whatIf],
  timeline: ["Timeline", timeline],
};

const head = document.getElementById("head");
const main = document.getElementById("main");
let drawnPlace = "";

function heading(current, all) {
  const menu = Object.entries(PAGES).map(
    ([name, [title]]) =>
      html`<li><a href=${link([name])} aria-current=${name === current ? "page" : nothing}>${title}</a></li>`,
  );
  return html`<div class="brand"><strong>volcano-py</strong> <span class="source">${all?.source ?? ""}</span></div>
    <nav aria-label="Pages"><ul>${menu}</ul></nav>
    ${visitor.canLeave ? html`<div class="visitor">${visitor.user} <button @click=${leave}>Sign out</button></div>` : nothing}
    <p class="state" role="status">${state(all)}</p>`;
}

function state(all) {
  if (connection.state === "broken") return html`<span class="problem">The page is out of date: no connection</span>`;
  if (!all) return "";
  if (all.live === false) return `As of ${moment(all.moment)}`;
  if (all.behind?.length) return html`<span class="problem">No connection to the cluster; shown as it was</span>`;
  return html`<span class="dot" aria-hidden="true"></span>Live`;
}

const missing = (summary, each) =>
  each?.length
    ? html`<details class="unread"><summary>${summary(each.length)}</summary><ul>${each.map((text) => html`<li>${text}</li>`)}</ul></details>`
    : nothing;

const absent = (all) => html`${missing((count) => `${count} things could not be read`, all.unread)}
  ${missing(() => "Not all of the cluster is yours to see", all.hidden)}`;

function draw() {
  const { path, query } = place();
  const [name, ...rest] = path.length ? path : ["overview"];
  const all = cluster();
  const [title, page] = PAGES[name] ?? ["Not found", () => html`<p>There is no page ${name}.</p>`];
  render(heading(name, all), head);
  if (all) render(html`${absent(all)}${page(rest, query)}`, main);
  document.title = `${rest.length ? `${rest.join("/")} – ` : ""}${title} – volcano-py`;
  const here = [name, ...rest].join("/");
  if (drawnPlace !== here && drawnPlace !== "") {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  drawnPlace = here;
}

main.replaceChildren();
drawWith(draw);
onChange(redraw);
addEventListener("hashchange", redraw);
addEventListener("resize", redraw);
redraw();
follow().catch((error) => render(html`<p class="problem" role="alert">${error.message}</p>`, main));
