// What people call a job. A generated PodGroup has a UID in its name, so its owner says more.

import { html } from "../vendor/lit-html/lit-html.js";
import { tables } from "./store.js";
import { jobLink } from "./places.js";

/** `default/web-5d8f (ReplicaSet)`, or the PodGroup where it has no owner or there is no such job any more. */
export function jobName(key) {
  const owner = tables.jobs.get(key)?.owner;
  if (!owner) return key;
  const [kind, name] = owner.split(" ");
  return `${key.split("/")[0]}/${name} (${kind})`;
}

/** A link to the job with that name; the PodGroup is shown to whoever points at it. */
export const jobNamed = (key) => html`<a href=${jobLink(key)} title=${key}>${jobName(key)}</a>`;
