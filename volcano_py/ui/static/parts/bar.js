// Bars as plain SVG: no script of a library is needed for a rectangle.

import { html, svg, nothing } from "../vendor/lit-html/lit-html.js";
import { number } from "./amounts.js";

const part = (value, total) => (total > 0 ? Math.max(0, Math.min(100, (100 * value) / total)) : 0);
const box = (from, width, kind) =>
  width > 0 ? svg`<rect x=${from} y="0" width=${width} height="10" class=${kind}></rect>` : nothing;
const mark = (at, kind) => svg`<line x1=${at} x2=${at} y1="0" y2="10" class=${kind}></line>`;

const drawing = (content) =>
  html`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">
    <rect x="0" y="0" width="100" height="10" class="track"></rect>${content}
  </svg>`;

/** Used of a total, and what is promised or asked on top; the bar is longer where that is beyond the total. */
export function usage(used, total, promised = 0) {
  const scale = Math.max(total, used + promised);
  const held = part(used, scale);
  return drawing(svg`
    ${box(held, Math.min(part(promised, scale), 100 - held), "promised")}
    ${box(0, held, "used")}
    ${scale > total ? mark(part(total, scale), "capability") : nothing}`);
}

/** One queue and one resource; `scale` is the length of the bar. */
export function standing(queue, resource, scale) {
  const at = (values) => part(values?.[resource] ?? 0, scale);
  const [held, deserved] = [at(queue.allocated), at(queue.deserved)];
  const has = (values) => values?.[resource] !== undefined;
  const within = has(queue.deserved) ? Math.min(held, deserved) : held;
  return drawing(svg`
    ${box(held, Math.min(at(queue.promised), 100 - held), "promised")}
    ${box(0, within, "used")}
    ${box(within, held - within, "borrowed")}
    ${has(queue.guarantee) ? box(0, at(queue.guarantee), "guarantee") : nothing}
    ${has(queue.deserved) ? mark(deserved, "deserved") : nothing}
    ${has(queue.capability) ? mark(at(queue.capability), "capability") : nothing}`);
}

/** The same in words. */
export function standingText(queue, resource) {
  const say = (name, values) => (values?.[resource] === undefined ? "" : `, ${name} ${number(resource, values[resource])}`);
  return (
    `${number(resource, queue.allocated?.[resource] ?? 0)} ${resource} held` +
    say("deserves", queue.deserved) + say("guaranteed", queue.guarantee) + say("at most", queue.capability)
  );
}

export const legend = () => html`<ul class="legend" aria-label="Colours of the bars">
  <li><span class="key used"></span>held</li>
  <li><span class="key borrowed"></span>held beyond what is deserved</li>
  <li><span class="key promised"></span>promised to admitted jobs</li>
  <li><span class="key guarantee"></span>guarantee</li>
  <li><span class="key deserved"></span>deserved</li>
  <li><span class="key capability"></span>capability</li>
</ul>`;
