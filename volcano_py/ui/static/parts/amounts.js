// Amounts as people read them: CPU comes in millicores, memory and storage in bytes, everything else as counts.

const BYTES = new Set(["memory", "ephemeral-storage", "storage"]);
const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** `3.5` for 3500 millicores, `1.5Gi`, `4`. */
export function number(resource, value) {
  if (resource === "cpu") return short(value / 1000);
  if (!BYTES.has(resource) && !resource.startsWith("hugepages-")) return short(value);
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return short(value) + UNITS[unit];
}

const SCALES = { m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4, Pi: 1024 ** 5 };

/** The same of a quantity in Kubernetes' notation: `3.5` for `3500m` cpu. */
export function readable(resource, quantity) {
  const [, digits, suffix] = quantity.match(/^(-?[\d.]+)(\w*)$/);
  return number(resource, digits * SCALES[suffix] * (resource === "cpu" ? 1000 : 1));
}

const short = (value) => String(Math.round(value * 100) / 100);

const rank = (name) => (name === "cpu" ? 0 : name === "memory" ? 1 : name === "pods" ? 3 : 2);

/** Names of resources: cpu and memory first, pods last. */
export const ordered = (names) => [...names].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));

/** Names of the resources that nodes have; cpu where no node can be seen. */
export const resourcesOf = (all) => (Object.keys(all.allocatable).length ? ordered(Object.keys(all.allocatable)) : ["cpu"]);

/** `8 cpu, 64Gi memory`; `nothing` when all are zero. */
export function amounts(values = {}) {
  const parts = ordered(Object.keys(values)).filter((name) => values[name]);
  return parts.map((name) => (name === "pods" ? counted(values[name], "pod") : `${number(name, values[name])} ${name}`)).join(", ") || "nothing";
}

/** `1 pod`, `3 pods`. */
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

export const percent = (part) => `${Math.round(part * 100)} %`;

/** `45s`, `12m`, `5h`, `3d` until now, of seconds since the epoch. */
export const age = (since, now = Date.now() / 1000) => (since ? duration(Math.max(0, Math.floor(now - since))) : "–");

/** The same of seconds. */
export function duration(seconds) {
  for (const [size, unit, upTo] of [[1, "s", 120], [60, "m", 7200], [3600, "h", 172800]]) {
    if (seconds < upTo) return `${Math.floor(seconds / size)}${unit}`;
  }
  return `${Math.floor(seconds / 86400)}d`;
}

/** `2026-11-24 10:00:00` of seconds since the epoch, in the time zone of the browser. */
export function moment(at) {
  const date = new Date(at * 1000);
  const two = (value) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
