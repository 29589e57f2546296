// Addresses inside of the page: `#/jobs/team/train?queue=a`. All that a page shows follows from its address.

/** The parts of the address, and its settings. */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

/** The address of a page: `link(["jobs", "team", "train"])`. Settings that are empty are left out. */
export function link(path, settings = {}) {
  const query = new URLSearchParams(Object.entries(settings).filter(([, value]) => value));
  const text = query.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const jobLink = (key) => link(["jobs", ...key.split("/")]);
export const queueLink = (name) => link(["queues", name]);
export const nodeLink = (name) => link(["nodes", name]);

/** Changes one setting of the address, without a new entry in the history. */
export function set(name, value) {
  const { path, query } = place();
  if (value) query.set(name, value);
  else query.delete(name);
  history.replaceState(null, "", link(path, Object.fromEntries(query)));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
