/** Charts as SVG that are readable on light and dark backgrounds: horizontal bars. */

/** On a phone 390 px wide, a page shows it at 342 px: text of 16 px is 11 px there. */
const WIDTH = 480;
const LEFT = 14;
const RIGHT = 370;
/** The height of a line of text, and of a name with its bar. */
const LINE = 22;
const ROW = 46;
const GAP = 10;
/** So many letters of the title fit beside each other. */
const LETTERS = 50;

const STYLE = `<style>
text{font:16px system-ui,sans-serif;fill:#24292f}
.head{font-weight:600}
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
  const lines = linesOf(logarithmic ? `${title}; logarithmic` : title);
  const top = 14 + lines.length * LINE;
  const yOf = (row: number) => top + row * ROW + Math.floor(row / group) * GAP;
  const height = yOf(rows.length - 1) + ROW + 14;
  return svg(title, height, [
    ...lines.map((line, i) => `<text class="head" x="${LEFT}" y="${24 + i * LINE}">${xml(line)}</text>`),
    ...rows.flatMap(({ name, value, from = value, to = value }, i) => {
      const y = yOf(i);
      return [
        `<text x="${LEFT}" y="${y + 16}">${xml(name)}</text>`,
        `<rect class="${isOurs(name) ? "ours" : "bar"}" x="${LEFT}" y="${y + LINE}" width="${round(Math.max(1, x(value) - LEFT))}" height="16"/>`,
        ...(x(to) - x(from) > 1 ? [`<path class="spread" d="M${x(from)} ${y + LINE + 8}H${x(to)}"/>`] : []),
        `<text x="${x(to) + 6}" y="${y + LINE + 13}">${show(value)} ${xml(unit)}</text>`,
      ];
    }),
    ...(mark === undefined ? [] : [`<path class="mark" d="M${x(mark)} ${top}V${height - 10}"/>`]),
  ]);
}

/** The title in lines that fit. */
function linesOf(title: string): string[] {
  const lines = [""];
  for (const word of title.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length > LETTERS) lines.push(word);
    else lines.splice(-1, 1, longer);
  }
  return lines;
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
    ...content,
    "</svg>",
  ].join("\n")}\n`;
}
