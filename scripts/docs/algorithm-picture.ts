/** Draws two panels as an SVG: admissions per second, and a quantity over the same time with its limit. */

/** On a phone 390 px wide, a page shows it at 342 px: text of 16 px is 11 px there. */
const WIDTH = 480;
const HEIGHT = 372;
const LEFT = 44;
const RIGHT = 468;
/** The top and bottom of each panel. */
const UPPER = { top: 96, bottom: 186 } as const;
const LOWER = { top: 232, bottom: 332 } as const;

interface Picture {
  readonly title: string;
  /** The text for readers who cannot see the picture. */
  readonly description: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly askedMs: readonly number[];
  readonly admittedMs: readonly number[];
  /** What the upper panel's bars show. */
  readonly bars: string;
  /** The quantity of the lower panel: its value from each instant on. */
  readonly steps: readonly (readonly [ms: number, value: number])[];
  readonly quantity: string;
  /** A part of this quantity, drawn as an area. */
  readonly part?: readonly (readonly [ms: number, value: number])[];
  readonly limit: number;
  /** The largest value that fits into the lower panel. */
  readonly max: number;
  /** A span to mark, with its label. */
  readonly span: { readonly fromMs: number; readonly toMs: number; readonly label: string };
}

export function draw(picture: Picture): string {
  const { title, description, fromMs, toMs, askedMs, admittedMs, bars, steps, quantity, limit, max, span, part } =
    picture;
  const x = (ms: number) => round(LEFT + ((ms - fromMs) / (toMs - fromMs)) * (RIGHT - LEFT));
  const asked = perSecond(askedMs, fromMs, toMs);
  const admitted = perSecond(admittedMs, fromMs, toMs);
  const most = niceMax(Math.max(...asked));
  const upperY = (count: number) => y(UPPER, count / most);
  const lowerY = (value: number) => y(LOWER, value / max);
  const bar = (count: number, i: number) => {
    const left = x(fromMs + 1000 * i) + 1;
    return `M${left} ${UPPER.bottom}V${upperY(count)}h${round(x(fromMs + 1000) - x(fromMs) - 2)}V${UPPER.bottom}`;
  };
  const path = (counts: readonly number[]) => counts.map((count, i) => (count > 0 ? bar(count, i) : "")).join("");
  const line = (values: typeof steps) => {
    const changes = values.filter(([, value], i) => value !== values[i - 1]?.[1]);
    return changes.map(([ms, value]) => `H${x(Math.max(ms, fromMs))}V${lowerY(value)}`).join("");
  };
  const spanX = x(Math.max(span.fromMs, fromMs));
  const ticks = Array.from({ length: Math.floor(toMs / 5000) + 1 }, (_, i) => 5 * i);

  return [
    ...opening({ width: WIDTH, height: HEIGHT, title, description }),
    `<rect class="span" x="${spanX}" y="${UPPER.top - 22}" width="${round(x(span.toMs) - spanX)}" height="${LOWER.bottom - UPPER.top + 22}"/>`,
    `<text class="head" x="12" y="24">${xml(title)}</text>`,
    `<text class="key" x="12" y="50">${xml(bars)}</text>`,
    `<text class="mark" x="${round((spanX + x(span.toMs)) / 2)}" y="${UPPER.top - 6}" text-anchor="middle">${xml(span.label)}</text>`,
    `<text class="key" x="12" y="${LOWER.top - 16}">${xml(quantity)}</text>`,
    ...axis(UPPER, [0, most], upperY),
    ...axis(LOWER, [0, limit, ...(max >= 2 * limit ? [2 * limit] : [])], lowerY),
    `<path class="asked" d="${path(asked)}"/>`,
    `<path class="admitted" d="${path(admitted)}"/>`,
    ...(part ? [`<path class="part" d="M${x(fromMs)} ${lowerY(0)}${line(part)}H${x(toMs)}V${lowerY(0)}"/>`] : []),
    `<path class="sum" d="M${x(fromMs)} ${lowerY(0)}${line(steps)}H${x(toMs)}"/>`,
    `<path class="limit" d="M${LEFT} ${lowerY(limit)}H${RIGHT}"/>`,
    `<path class="boundary" d="${ticks
      .filter((s) => s % 10 === 0)
      .map((s) => `M${x(1000 * s)} ${UPPER.top - 22}V${LOWER.bottom}`)
      .join("")}"/>`,
    ...ticks.map(
      (s) =>
        `<text class="tick" x="${x(1000 * s)}" y="${LOWER.bottom + 22}" text-anchor="middle">${s === 0 ? "0 s" : s}</text>`,
    ),
    "</svg>",
    "",
  ].join("\n");
}

/** `prefers-color-scheme` also works in an SVG that a page shows as an image. */
const STYLE = `<style>
text{font:16px system-ui,sans-serif;fill:#1f2328}
.head{font-weight:600}
.key,.tick{fill:#59636e}
.paper{fill:#fff}
.mark{fill:#7d4e00;font-weight:600}
.span{fill:#d4a72c;fill-opacity:.18}
.axis,.boundary{stroke:#d1d9e0;fill:none}
.boundary{stroke-dasharray:2 3;stroke:#818b98}
.asked{fill:none;stroke:#818b98}
.admitted,.part{fill:#0969da}
.part{fill-opacity:.25}
.sum{fill:none;stroke:#0969da;stroke-width:2}
.limit{stroke:#cf222e;stroke-dasharray:6 3}
.limit-name{fill:#cf222e}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}
.key,.tick{fill:#9198a1}
.paper{fill:#0d1117}
.mark{fill:#e3b341}
.span{fill:#bb8009;fill-opacity:.25}
.axis{stroke:#3d444d}
.boundary,.asked{stroke:#7d8590}
.admitted,.part{fill:#4493f8}
.sum{stroke:#4493f8}
.limit{stroke:#ff7b72}
.limit-name{fill:#ff7b72}
}
</style>`;

interface Opening {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly description: string;
}

/** The beginning of every picture: its size, its texts for readers who cannot see it, and its background. */
export function opening({ width, height, title, description }: Opening): string[] {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t d">`,
    `<title id="t">${xml(title)}</title>`,
    `<desc id="d">${xml(description)}</desc>`,
    STYLE,
    `<rect class="paper" width="${width}" height="${height}"/>`,
  ];
}

export function axis(
  panel: { readonly bottom: number },
  values: readonly number[],
  toY: (value: number) => number,
  [left, right]: readonly [number, number] = [LEFT, RIGHT],
): string[] {
  return values.flatMap((value) => [
    `<path class="axis" d="M${left} ${toY(value)}H${right}"/>`,
    `<text class="tick" x="${left - 6}" y="${round(toY(value) + (value === 0 && panel.bottom === toY(0) ? 0 : 5))}" text-anchor="end">${value}</text>`,
  ]);
}

function perSecond(instantsMs: readonly number[], fromMs: number, toMs: number): number[] {
  const counts = Array<number>((toMs - fromMs) / 1000).fill(0);
  for (const ms of instantsMs) counts[Math.floor((ms - fromMs) / 1000)]!++;
  return counts;
}

function niceMax(value: number): number {
  return value <= 10 ? Math.ceil(value / 2) * 2 : Math.ceil(value / 10) * 10;
}

function y({ top, bottom }: { top: number; bottom: number }, part: number): number {
  return round(bottom - part * (bottom - top));
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}

export function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
