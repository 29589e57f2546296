// What if: a form for changes, and what they would alter. The form is in the address, so that it can be shared.

import { html } from "../vendor/lit-html/lit-html.js";
import { rows } from "../parts/store.js";
import { answerOf, drawn, send } from "../parts/ask.js";
import { difference } from "../parts/difference.js";
import { set } from "../parts/places.js";

const LINES = [
  ["addNodes", "More nodes", "gpu-1=3", "A node that is there, and how many more like it; one a line."],
  ["removeNode", "Without nodes", "rack7-3", "Names of nodes; one a line."],
  ["cordon", "Cordoned nodes", "rack7-4", "Names of nodes; one a line."],
  ["set", "Other values", "queue/research.spec.capability.cpu=20", "KIND/NAME.FIELD=VALUE; one a line."],
  ["delete", "Without objects", "podgroup/team/old", "KIND/NAME or KIND/NAMESPACE/NAME; one a line."],
];

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function field([name, title, example, help], query) {
  return html`<div class="field"><label for=${name}>${title}</label>
    <textarea id=${name} name=${name} rows="2" spellcheck="false" placeholder=${example} aria-describedby=${`${name}-help`}
      .defaultValue=${query.get(name) ?? ""}></textarea>
    <p class="small" id=${`${name}-help`}>${help}</p></div>`;
}

function run(event) {
  event.preventDefault();
  const fields = event.target.elements;
  for (const [name] of LINES) set(name, fields[name].value.trim());
  const body = Object.fromEntries(LINES.map(([name]) => [name, lines(fields[name].value)]));
  send("what-if", "/api/what-if", { ...body, submit: fields.submit.value });
}

export function whatIf(_path, query) {
  const known = [...rows("nodes").slice(0, 3).map((node) => node.name)];
  return html`<h1>What if</h1>
    <p>The scheduler runs on a copy until nothing changes, without the changes and with all of them. Nothing is written.
      ${known.length ? `Nodes are called ${known.join(", ")} …` : ""}</p>
    <form class="grid" @submit=${run}>
      ${LINES.map((each) => field(each, query))}
      <div class="field"><label for="submit">New objects</label>
        <textarea id="submit" name="submit" rows="6" spellcheck="false" aria-describedby="submit-help"></textarea>
        <p class="small" id="submit-help">YAML of pods and PodGroups, or of a Volcano Job.</p></div>
      <p><button ?disabled=${answerOf("what-if")?.asking}>Show what would change</button></p>
    </form>
    <section aria-label="Result">${drawn(answerOf("what-if"), difference)}</section>`;
}
