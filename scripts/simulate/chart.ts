/** Draws admissions over time under strict and leased as an SVG, for one kind of traffic. */

import { axis, opening, xml } from "../docs/algorithm-picture.ts";
import type { Measured } from "./run.ts";
import type { Row } from "./targets.ts";

const WIDTH = 720;
const HEIGHT = 220;
const [LEFT, RIGHT] = [56, 704];
const PANEL = { top: 62, bottom: 182 } as const;

/** @param one a run of the row under each mode, with seed 1. */
export function drawChart(
  { limit, windowMs, demand, isolates, arrivals }: Row,
  one: Record<Row["mode"], Measured>,
): string {
  const { strict, leased } = one;
  const bursts = arrivals === "steady" ? "" : ", bursts";
  const title = `${limit.toLocaleString("en")} per ${windowMs / 1000} s, demand ${demand} times that, ${isolates} isolates${bursts}`;
  const most = `strict ${strict.mostInWindow}, leased ${leased.mostInWindow}`;
  const description = `One run, seed 1. Most admitted in a true window: ${most}.`;
  const tenths = leased.perTenth.length;
  const perTenth = limit / 10;
  const largest = Math.max(perTenth, ...strict.perTenth, ...leased.perTenth);
  const x = (tenth: number) => round(LEFT + (tenth / tenths) * (RIGHT - LEFT));
  const y = (count: number) => round(PANEL.bottom - (count / largest) * (PANEL.bottom - PANEL.top));
  const steps = (counts: readonly number[]) => counts.map((count, i) => `H${x(i)}V${y(count)}`).join("");
  const line = ({ perTenth: counts }: Measured) =>
    `M${x(0)} ${PANEL.bottom}${steps(counts)}H${x(tenths)}V${PANEL.bottom}`;
  const windows = Array.from({ length: Math.floor(tenths / 10) + 1 }, (_, i) => i);
  return [
    ...opening({ width: WIDTH, height: HEIGHT, title, description }),
    `<text class="head" x="${LEFT}" y="20">${xml(title)}</text>`,
    `<text class="key" x="${LEFT}" y="38">admitted per tenth of a window: strict (area), leased (line)</text>`,
    ...axis(PANEL, [0, round(perTenth), ...(largest >= 2 * perTenth ? [Math.floor(largest)] : [])], y, [LEFT, RIGHT]),
    `<path class="part" d="${line(strict)}"/>`,
    `<path class="sum" d="${line(leased)}"/>`,
    `<path class="limit" d="M${LEFT} ${y(perTenth)}H${RIGHT}"/>`,
    `<text class="limit-name" x="${RIGHT}" y="${y(perTenth) - 4}" text-anchor="end">limit / 10</text>`,
    `<path class="boundary" d="${windows.map((n) => `M${x(10 * n)} ${PANEL.top - 8}V${PANEL.bottom}`).join("")}"/>`,
    ...windows.map(
      (n) =>
        `<text class="tick" x="${x(10 * n)}" y="${PANEL.bottom + 16}" text-anchor="middle">${(n * windowMs) / 1000}${n === 0 ? " s" : ""}</text>`,
    ),
    "</svg>",
    "",
  ].join("\n");
}

const round = (value: number) => Math.round(10 * value) / 10;
