// Questions to the server that take a moment: their answers are kept until what they are about changes.

import { html } from "../vendor/lit-html/lit-html.js";
import { redraw } from "./redraw.js";

const kept = new Map();

async function json(path, options) {
  const answer = await fetch(path, options);
  const text = await answer.text();
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(text || `${answer.status}`);
  }
  if (!answer.ok) throw new Error(value.error ?? text);
  return value;
}

/** What is known of the answer: `{value, error, asking}`. It is asked for again when `version` is another object. */
export function asked(path, version) {
  const known = kept.get(path) ?? { version: {} };
  if (known.version !== version && !known.asking) {
    known.version = version;
    fill(path, known, () => json(path));
  }
  return known;
}

/** Sends `body` as JSON; the answer is then known by `name`. */
export function send(name, path, body) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  fill(name, { version: null }, () => json(path, options));
}

export const answerOf = (name) => kept.get(name);

function fill(name, known, work) {
  known.asking = true;
  kept.set(name, known);
  if (kept.size > 50) kept.delete(kept.keys().next().value);
  work()
    .then((value) => Object.assign(known, { value, error: undefined }))
    .catch((error) => Object.assign(known, { error: error.message }))
    .finally(() => {
      known.asking = false;
      redraw();
    });
  redraw();
}

/** The answer drawn by `draw`, or that it is on its way, or why there is none. */
export function drawn(known, draw, waiting = "The scheduler is working it out on a copy …") {
  if (known === undefined) return "";
  if (known.error !== undefined) return html`<p class="problem" role="alert">${known.error}</p>`;
  if (known.value === undefined) return html`<p class="quiet" role="status">${waiting}</p>`;
  return draw(known.value);
}
