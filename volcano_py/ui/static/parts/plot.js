// Lines over time, drawn by uPlot.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { moment } from "./amounts.js";
import { html } from "../vendor/lit-html/lit-html.js";
import { directive } from "../vendor/lit-html/directive.js";
import { AsyncDirective } from "../vendor/lit-html/async-directive.js";

const HEIGHT = 220;
const COLOURS = 8;
const SHORTEST = 60; // seconds from left to right, however few samples there are

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(width, series, text) {
  const [ink, grid] = [colour("--quiet"), colour("--line")];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  return {
    width,
    height: HEIGHT,
    scales: { x: { range: (_, from, to) => [Math.min(from, to - SHORTEST), to] }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [{ ...axis, values: (_, ticks) => ticks.map((at) => moment(at).slice("2026-01-01 ".length)) }, { ...axis, size: 60, values: (_, ticks) => ticks.map(text) }],
    series: [{ value: (_, at) => (at === null ? "–" : moment(at)) }, ...series.map((name, at) => ({
      label: name,
      stroke: colour(`--line-${at % COLOURS}`),
      width: 2,
      paths: uPlot.paths.stepped({ align: 1 }), // all stays as it is until the next sample
      dash: at >= COLOURS ? [6, 4] : undefined,
      value: (_, value) => (value === null || value === undefined ? "–" : text(value)),
    }))],
  };
}

class Plot extends AsyncDirective {
  render() {
    return html``;
  }

  update(part, [times, series, columns, text]) {
    const host = part.element;
    const [width, kind] = [Math.max(240, host.clientWidth), JSON.stringify([series, colour("--quiet")])];
    if (this.chart === undefined || this.kind !== kind) {
      this.chart?.destroy();
      this.kind = kind;
      this.chart = new uPlot(options(width, series, text), [times, ...columns], host);
    } else {
      if (this.width !== width) this.chart.setSize({ width, height: HEIGHT });
      this.chart.setData([times, ...columns]);
    }
    this.width = width;
  }

  disconnected() {
    this.chart?.destroy();
    this.chart = undefined;
  }
}

const drawn = directive(Plot);

/** A chart; `columns` has a value for each of `times` (seconds since the epoch) for each name in `series`. */
export const plot = (name, times, series, columns, text) =>
  html`<div class="plot" data-name=${name} ${drawn(times, series, columns, text)}></div>`;
