// Nodes: a heat map by HyperNode, rack or zone, and what is on one node.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { cluster, rows, tables } from "../parts/store.js";
import { amounts, counted, number, ordered, percent, resourcesOf } from "../parts/amounts.js";
import { usage } from "../parts/bar.js";
import { jobNamed } from "../parts/job-name.js";
import { link, nodeLink, set } from "../parts/places.js";
import { asked, drawn } from "../parts/ask.js";

const STEPS = 5;
const GROUPS = {
  hypernode: ["HyperNode", (node) => (node.domains ?? []).join(" / ")],
  rack: ["rack", (node) => node.rack ?? ""],
  zone: ["zone", (node) => node.zone ?? ""],
  none: ["nothing", () => ""],
};

const part = (node, resource) => ((node.used?.[resource] ?? 0) / (node.allocatable?.[resource] || Infinity));
const heat = (value) => (value <= 0 ? 0 : Math.min(STEPS, 1 + Math.floor(value * STEPS * 0.9999)));

const usesShown = () => cluster().useShown !== false;

function words(node, resource) {
  const total = node.allocatable?.[resource];
  if (!usesShown()) return `${node.name}: ${number(resource, total ?? 0)} ${resource}${node.closed ? ", cordoned" : ""}`;
  const use = total
    ? `${number(resource, node.used?.[resource] ?? 0)} of ${number(resource, total)} ${resource} used (${percent(part(node, resource))})`
    : `no ${resource}`;
  return `${node.name}: ${use}, ${counted(node.pods ?? 0, "pod")}${node.closed ? ", cordoned" : ""}`;
}

const cell = (resource) => (node, at) => html`<a href=${nodeLink(node.name)} tabindex=${at ? -1 : 0}
  class=${`cell ${usesShown() && node.allocatable?.[resource] ? `heat-${heat(part(node, resource))}` : "none"} ${node.closed ? "closed" : ""}`}
  title=${words(node, resource)} aria-label=${words(node, resource)}></a>`;

// One stop for Tab in each group; the arrow keys go from node to node.
function walk(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const cells = [...event.currentTarget.querySelectorAll("a.cell")];
  const next = cells[cells.indexOf(event.target) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

function group([name, nodes], resource, by) {
  const used = nodes.reduce((sum, node) => sum + (node.used?.[resource] ?? 0), 0);
  const total = nodes.reduce((sum, node) => sum + (node.allocatable?.[resource] ?? 0), 0);
  const title = name || (by === "none" ? "All nodes" : `No ${GROUPS[by][0]}`);
  return html`<section class="rack">
    <h2>${title} <span class="quiet">${counted(nodes.length, "node")}, ${usesShown() ? `${number(resource, used)} of ` : ""}${number(resource, total)} ${resource}</span></h2>
    <div class="cells" role="group" aria-label=${title} @keydown=${walk}>${nodes.map(cell(resource))}</div>
  </section>`;
}

function usable(all) {
  const has = { hypernode: all.some((node) => node.domains?.length), rack: all.some((node) => node.rack), zone: all.some((node) => node.zone), none: true };
  return Object.keys(GROUPS).filter((name) => has[name]);
}

const taken = (found) => html`<p>${found.closed ? `It takes no pods: ${found.closed}.` : usesShown() ? `It still takes ${amounts(found.free)}.` : "It takes pods."}</p>
  ${found.taints?.length ? html`<p>Only pods that tolerate ${found.taints.join(", ")}.</p>` : nothing}
  ${(found.devices ?? []).map((each) => html`<p>${each.driver}: ${each.used == null ? counted(each.count, "device") : `${each.used} of ${counted(each.count, "device")} in use`}.</p>`)}
  ${(found.numa ?? []).map((each) => html`<p>NUMA node ${each.number}: ${each.free == null ? counted(each.cpus, "CPU") : `${each.free} of ${counted(each.cpus, "CPU")} free`}.</p>`)}
  ${(found.gpus ?? []).map((each) => html`<p>GPU ${each.name}${each.kind ? ` (${each.kind})` : ""}: ${each.memory_used == null ? `${each.memory} MB` : `${each.memory_used} of ${each.memory} MB in use${each.cores_used ? `, ${each.cores_used} % of the cores` : ""}; users: ${each.users}`}.</p>`)}
  <h2>What is there</h2>
  ${Object.keys(found.pods ?? {}).length
    ? html`<ul>${Object.entries(found.pods).map(
        ([name, count]) => html`<li>${tables.jobs.has(name) ? jobNamed(name) : name}: ${counted(count, "pod")}</li>`,
      )}</ul>`
    : html`<p>${usesShown() ? "No pods." : "No pods that are yours to see."}</p>`}`;

function one(name) {
  const node = tables.nodes.get(name);
  const title = html`<p class="crumbs"><a href=${link(["nodes"])}>Nodes</a>${(node?.domains ?? []).map((each) => html` / ${each}`)}</p><h1>Node ${name}</h1>`;
  if (!node) return html`${title}<p class="problem" role="alert">There is no node ${name} any more.</p>`;
  return html`${title}
    <div class="stack">${ordered(Object.keys(node.allocatable)).map(
      (resource) => usesShown()
        ? html`<div><strong>${resource}</strong> ${usage(node.used?.[resource] ?? 0, node.allocatable[resource])}
            <span class="small">${number(resource, node.used?.[resource] ?? 0)} of ${number(resource, node.allocatable[resource])} used</span></div>`
        : html`<div><strong>${resource}</strong> ${number(resource, node.allocatable[resource])}</div>`,
    )}</div>
    ${drawn(asked(`/api/explain/node/${encodeURIComponent(name)}`, node), taken)}`;
}

export function nodes([name], query) {
  if (name) return one(name);
  const all = rows("nodes").sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  const resources = resourcesOf(cluster());
  const resource = resources.includes(query.get("resource")) ? query.get("resource") : resources[0];
  const ways = usable(all);
  const by = ways.includes(query.get("by")) ? query.get("by") : ways[0];
  const groups = [...Map.groupBy(all, GROUPS[by][1])].sort((a, b) => a[0].localeCompare(b[0], undefined, { numeric: true }));
  return html`<h1>Nodes</h1>
    <form class="filters" @submit=${(event) => event.preventDefault()}>
      <label>Resource <select @change=${(event) => set("resource", event.target.value)}>
        ${resources.map((each) => html`<option ?selected=${each === resource}>${each}</option>`)}</select></label>
      <label>Grouped by <select @change=${(event) => set("by", event.target.value)}>
        ${ways.map((each) => html`<option value=${each} ?selected=${each === by}>${GROUPS[each][0]}</option>`)}</select></label>
    </form>
    <ul class="legend" aria-label="Colours of the nodes"><li><span class="cell heat-0"></span>nothing used</li>
      ${[1, 2, 3, 4, 5].map((step) => html`<li><span class=${`cell heat-${step}`}></span>up to ${percent(step / STEPS)}</li>`)}
      <li><span class="cell closed"></span>cordoned</li></ul>
    ${groups.map((each) => group(each, resource, by))}`;
}
