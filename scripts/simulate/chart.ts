/** Draws admissions over time under strict and leased as an SVG, for one kind of traffic. */

import { axis, opening, xml } from "../docs/algorithm-picture.ts";

const WIDTH = 720;
const HEIGHT = 220;
const [LEFT, RIGHT] = [56, 704];
const PANEL = { top: 62, bottom: 182 } as const;

export interface Chart {
  readonly title: string;
  readonly description: string;
  readonly windowMs: number;
  /** Units per window. */
  readonly limit: number;
  /** Admissions per tenth of a window. */
  readonly strict: readonly number[] | undefined;
  readonly leased: readonly number[] | undefined;
}

export function drawChart({ title, description, windowMs, limit, strict = [], leased = [] }: Chart): string {
  const tenths = Math.max(strict.length, leased.length);
  const perTenth = limit / 10;
  const most = Math.max(perTenth, ...strict, ...leased);
  const x = (tenth: number) => round(LEFT + (tenth / tenths) * (RIGHT - LEFT));
  const y = (count: number) => round(PANEL.bottom - (count / most) * (PANEL.bottom - PANEL.top));
  const steps = (counts: readonly number[]) => counts.map((count, i) => `H${x(i)}V${y(count)}`).join("");
  const line = (counts: readonly number[]) =>
    counts.length === 0 ? "" : `M${x(0)} ${PANEL.bottom}${steps(counts)}H${x(tenths)}V${PANEL.bottom}`;
  const windows = Array.from({ length: Math.floor(tenths / 10) + 1 }, (_, i) => i);
  return [
    ...opening({ width: WIDTH, height: HEIGHT, title, description }),
    `<text class="head" x="${LEFT}" y="20">${xml(title)}</text>`,
    `<text class="key" x="${LEFT}" y="38">admitted per tenth of a window: strict (area), leased (line)</text>`,
    ...axis(PANEL, [0, round(perTenth), ...(most >= 2 * perTenth ? [Math.floor(most)] : [])], y, [LEFT, RIGHT]),
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
