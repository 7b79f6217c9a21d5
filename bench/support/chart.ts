/** Charts as SVG that are readable on light and dark backgrounds: horizontal bars, and lines over logarithmic axes. */

const WIDTH = 720;
const LEFT = 270;
const RIGHT = 660;
const TOP = 44;
const ROW = 24;
const GAP = 10;

const STYLE = `<style>
text{font:11px system-ui,sans-serif;fill:#24292f}
.head{font-weight:600;font-size:13px}
.paper{fill:#fff}.bar{fill:#8c959f}.ours{fill:#0969da}.mark{stroke:#cf222e;stroke-dasharray:4 3}.axis{stroke:#d0d7de;fill:none}.spread{stroke:#24292f;stroke-width:1.5}
.line{fill:none;stroke:#8c959f;stroke-width:2}.line.ours{stroke:#0969da;fill:none}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.axis{stroke:#30363d}.spread{stroke:#e6edf3}.bar{fill:#6e7681}.ours{fill:#4493f8}}
</style>`;

/** What is drawn. Only charts with lines have `series`. */
export type Chart = Bars | Lines;

interface BarRow {
  readonly name: string;
  readonly value: number;
  /** The smallest and the largest value of the repetitions, drawn as a thin line. */
  readonly from?: number;
  readonly to?: number;
}

export interface Bars {
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly BarRow[];
  /** A value of interest, drawn as a line. */
  readonly mark?: number;
  /** So many rows belong together, and a gap follows. */
  readonly group?: number;
  /** For values over several orders of magnitude. The axis begins below the smallest value. */
  readonly logarithmic?: boolean;
}

export const draw = (chart: Chart): string => ("series" in chart ? lines(chart) : bars(chart));

function bars({ title, unit, rows, mark, group = rows.length, logarithmic = false }: Bars): string {
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

export interface Lines {
  readonly title: string;
  readonly xName: string;
  readonly yName: string;
  readonly series: readonly { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }[];
}

/** Both axes are logarithmic: a line with slope 1 means proportional. */
function lines({ title, xName, yName, series }: Lines): string {
  const [left, right, top, bottom] = [60, 520, 50, 250];
  const all = series.flatMap(({ points }) => points);
  const [xs, ys] = [all.map(([x]) => Math.log(x)), all.map(([, y]) => Math.log(y))];
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys, 0), Math.max(...ys)];
  const at = ([px, py]: readonly [number, number]) =>
    `${round(left + ((Math.log(px) - x0) / (x1 - x0)) * (right - left))} ${round(bottom - ((Math.log(py) - y0) / (y1 - y0)) * (bottom - top))}`;
  const ticks = [...new Set(all.map(([x]) => x))].sort((a, b) => a - b);
  return svg(title, 300, [
    `<text x="${left}" y="38">${xml(yName)}</text>`,
    `<path class="axis" d="M${left} ${top}V${bottom}H${right}"/>`,
    ...ticks.map((x) => {
      const [px] = at([x, Math.exp(y0)]).split(" ");
      return `<text x="${px}" y="${bottom + 16}" text-anchor="middle">${x >= 1000 ? `10${superscript(Math.log10(x))}` : x}</text>`;
    }),
    `<text x="${(left + right) / 2}" y="${bottom + 36}" text-anchor="middle">${xml(xName)}</text>`,
    ...series.flatMap(({ name, points }) => {
      const last = points.at(-1)!;
      const [px, py] = at(last).split(" ");
      const first = points[0]!;
      const [, firstY] = at(first).split(" ");
      return [
        `<path class="line${isOurs(name) ? " ours" : ""}" d="M${points.map(at).join("L")}"/>`,
        `<text x="${left - 6}" y="${Number(firstY) + 4}" text-anchor="end">${show(first[1])}</text>`,
        `<text x="${Number(px) + 6}" y="${Number(py) + 4}">${show(last[1])} ${xml(name)}</text>`,
      ];
    }),
  ]);
}

const isOurs = (name: string) => name.startsWith("headgate");
const round = (value: number) => Math.round(value * 10) / 10;
const superscript = (n: number) => [...String(Math.round(n))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
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
