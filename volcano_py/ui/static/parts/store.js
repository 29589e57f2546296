// The tables of the board as Maps, kept up to date by server-sent events.

const NAMES = ["cluster", "queues", "jobs", "nodes", "evictions", "configuration", "timeline"];

export const tables = Object.fromEntries(NAMES.map((name) => [name, new Map()]));
export const connection = { state: "connecting" };
export const visitor = { user: "", canLeave: false };
const listeners = new Set();

/** Calls `listener` after every change. */
export const onChange = (listener) => listeners.add(listener);

export const cluster = () => tables.cluster.get("cluster");
export const configuration = () => tables.configuration.get("configuration");

/** The rows of a table that pass `keep`. */
export const rows = (table, keep = () => true) => [...tables[table].values()].filter(keep);

const changed = () => listeners.forEach((listener) => listener());

function become(state) {
  if (connection.state !== state) {
    connection.state = state;
    changed();
  }
}

function apply(changes) {
  for (const [name, change] of Object.entries(changes)) {
    for (const key of change.gone ?? []) tables[name].delete(key);
    for (const [key, row] of Object.entries(change.set ?? {})) tables[name].set(key, row);
  }
}

// Where users sign in, the address itself leads to the form once the session is over.
async function ask(path) {
  const answer = await fetch(path);
  if (answer.status === 401 && visitor.canLeave) location.reload();
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

/** Ends the session. */
export async function leave() {
  await fetch("/sign-out", { method: "POST" });
  location.assign("/");
}

async function whole() {
  if (!visitor.user) Object.assign(visitor, await (await ask("/api/visitor")).json());
  const answer = await ask("/api/board");
  const board = await answer.json();
  for (const name of NAMES) tables[name] = new Map(Object.entries(board.tables[name] ?? {}));
  return `after=${board.number}&sight=${board.sight}`;
}

/** Follows the cluster without end; the browser connects again by itself. */
export async function follow() {
  const from = await whole();
  connection.state = "live";
  changed();
  const source = new EventSource(`/api/updates?${from}`);
  source.onopen = () => become("live");
  source.onmessage = (event) => {
    apply(JSON.parse(event.data));
    connection.state = "live";
    changed();
  };
  source.addEventListener("again", () => {
    source.close();
    again();
  });
  source.onerror = () => {
    become("broken");
    if (source.readyState === EventSource.CLOSED) setTimeout(again, 2000);
  };
}

const again = () => follow().catch(() => setTimeout(again, 2000));
