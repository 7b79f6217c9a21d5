/** The report as one page without scripts: a chart, and the tables of the terminal. */

import type { Summary } from "../engine/replay.ts";
import { type Block, blocksOf, count, instant, type Table } from "./report.ts";

const STYLE = `:root{color-scheme:light dark;--admitted:#3c78b4;--refused:#c8452c;--line:#8886}
body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
h2{margin-top:2.5rem}svg{width:100%;height:auto}svg text{font-size:13px;fill:currentColor}
.admitted{fill:var(--admitted)}.refused{fill:var(--refused)}.axis{stroke:currentColor;stroke-opacity:.4}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-weight:600}
th,td{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
@media(prefers-color-scheme:dark){:root{--admitted:#79b0e8;--refused:#f0866f}}`;

export function renderReport(summary: Summary): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>headgate replay</title><style>${STYLE}</style></head><body><main>
<h1>headgate replay</h1>
${chart(summary)}
${blocksOf(summary).map(blockHtml).join("\n")}
</main></body></html>
`;
}

function blockHtml(block: Block): string {
  if (typeof block === "string") return `<p>${escaped(block)}</p>`;
  return "heading" in block ? `<h2>${escaped(block.heading)}</h2>` : tableHtml(block);
}

function tableHtml({ caption, headings, rows, numbers }: Table): string {
  const classOf = (column: number) => (numbers.includes(column) ? ' class="n"' : "");
  const head = headings.map((text, i) => `<th scope="col"${classOf(i)}>${escaped(text)}</th>`).join("");
  const body = rows.map(([first = "", ...cells]) => {
    const others = cells.map((text, i) => `<td${classOf(i + 1)}>${escaped(text)}</td>`).join("");
    return `<tr><th scope="row"${classOf(0)}>${escaped(first)}</th>${others}</tr>`;
  });
  // What scrolls must be reached by the keyboard.
  return `<section class="scroll" tabindex="0" aria-label="${escaped(caption)}"><table>
<caption>${escaped(caption)}</caption><thead><tr>${head}</tr></thead><tbody>${body.join("\n")}</tbody></table></section>`;
}

/** One band of it for each configuration: its title, the bars, and the line below them. */
const [WIDTH, BAND, BARS] = [720, 170, 130];

/** Admitted and refused requests over time. `--json` has the numbers. */
function chart({ timeline, configurations, log }: Summary): string {
  if (log.requests === 0) return "";
  const { fromMs, stepMs, requests, refused } = timeline;
  const steps = requests.length;
  const most = Math.max(...requests);
  const y = (n: number) => Math.round((1000 * n * BARS) / most) / 1000;
  const bar = (step: number, from: number, to: number) =>
    to === from ? "" : `M${x(step)} ${-y(from)}V${-y(to)}H${x(step + 0.9)}V${-y(from)}z`;
  const x = (step: number) => Math.round((1000 * step * WIDTH) / steps) / 1000;
  const bands = configurations.map(({ name, requests: sum }, i) => {
    const admitted = requests.map((n, step) => n - refused[i]![step]!);
    const title = `${name}: ${count(sum.requests - sum.refused)} admitted, ${count(sum.refused)} refused`;
    return `<text y="${i * BAND + 20}">${escaped(title)}</text><g transform="translate(0 ${i * BAND + 30 + BARS})">
<path class="admitted" d="${admitted.map((n, step) => bar(step, 0, n)).join("")}"/>
<path class="refused" d="${requests.map((n, step) => bar(step, admitted[step]!, n)).join("")}"/>
<path class="axis" d="M0 0H${WIDTH}"/></g>`;
  });
  const height = configurations.length * BAND + 20;
  return `<figure style="margin:0"><svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="chart">
<title id="chart">Requests over time, admitted and refused</title>${bands.join("\n")}
<text y="${height - 4}">${instant(fromMs)}</text>
<text x="${WIDTH}" y="${height - 4}" text-anchor="end">${instant(fromMs + steps * stepMs)} UTC</text></svg>
<figcaption>Requests in each ${count(stepMs / 1_000)} s, at most ${count(most)}:
<span style="color:var(--admitted)">■</span> admitted, <span style="color:var(--refused)">■</span> refused above them.
</figcaption></figure>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
