/** Charts as SVG that are readable on light and dark backgrounds: horizontal bars. */

const WIDTH = 720;
const LEFT = 270;
const RIGHT = 660;
const TOP = 44;
const ROW = 24;
const GAP = 10;

const STYLE = `<style>
text{font:11px system-ui,sans-serif;fill:#24292f}
.head{font-weight:600;font-size:13px}
.paper{fill:#fff}.bar{fill:#8c959f}.ours{fill:#0969da}.mark{stroke:#cf222e;stroke-dasharray:4 3}.spread{stroke:#24292f;stroke-width:1.5}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.spread{stroke:#e6edf3}.bar{fill:#6e7681}.ours{fill:#4493f8}}
</style>`;

interface Bar {
  readonly name: string;
  readonly value: number;
  /** The smallest and the largest value of the repetitions, drawn as a thin line. */
  readonly from?: number;
  readonly to?: number;
}

export interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly Bar[];
  /** A value of interest, drawn as a line. */
  readonly mark?: number;
  /** So many rows belong together, and a gap follows. */
  readonly group?: number;
  /** For values over several orders of magnitude. The axis begins below the smallest value. */
  readonly logarithmic?: boolean;
}

export function draw({ title, unit, rows, mark, group = rows.length, logarithmic = false }: Chart): string {
  const values = rows.map(({ value }) => value).filter((value) => value > 0);
  const most = Math.max(...values, ...rows.map(({ to = 0 }) => to), mark ?? 0);
  const least = logarithmic ? Math.min(...values) / 2 : 0;
  const part = (value: number) =>
    logarithmic ? Math.log(Math.max(value, least) / least) / Math.log(most / least) : Math.max(0, value) / most;
  const x = (value: number) => round(LEFT + part(value) * (RIGHT - LEFT));
  const yOf = (row: number) => TOP + row * ROW + Math.floor(row / group) * GAP;
  const height = yOf(rows.length - 1) + ROW + 14;
  return svg(title, height, [
    ...rows.flatMap(({ name, value, from = value, to = value }, i) => {
      const y = yOf(i);
      return [
        `<text x="${LEFT - 8}" y="${y + 12}" text-anchor="end">${xml(name)}</text>`,
        `<rect class="${isOurs(name) ? "ours" : "bar"}" x="${LEFT}" y="${y}" width="${round(Math.max(1, x(value) - LEFT))}" height="16"/>`,
        ...(x(to) - x(from) > 1 ? [`<path class="spread" d="M${x(from)} ${y + 8}H${x(to)}"/>`] : []),
        `<text x="${x(to) + 6}" y="${y + 12}">${show(value)} ${xml(unit)}</text>`,
      ];
    }),
    ...(mark === undefined ? [] : [`<path class="mark" d="M${x(mark)} ${TOP - 6}V${height - 10}"/>`]),
    ...(logarithmic ? [`<text x="${RIGHT}" y="36" text-anchor="end">logarithmic</text>`] : []),
  ]);
}

const isOurs = (name: string) => name.startsWith("headgate");
const round = (value: number) => Math.round(value * 10) / 10;
const show = (value: number) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
const xml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

function svg(title: string, height: number, content: readonly string[]): string {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${xml(title)}">`,
    STYLE,
    `<rect class="paper" width="${WIDTH}" height="${height}"/>`,
    `<text class="head" x="14" y="20">${xml(title)}</text>`,
    ...content,
    "</svg>",
  ].join("\n")}\n`;
}
