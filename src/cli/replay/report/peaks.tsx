/** @jsxImportSource hono/jsx */

/** How much of a limit its clients have used at most: one bar for each tenth, and one for those refused. */

import { nice, ticks } from "d3-array";
import type { LimitSummary } from "../engine/summary.ts";
import { bar, Chart, SIZE } from "./chart.tsx";
import { count, percent, plural } from "./numbers.ts";
import { Table } from "./table.tsx";

const TENTHS = 10;
const LINES = 3;

export function Peaks({ id, title, limit }: { id: string; title: string; limit: LimitSummary }) {
  const { peaks } = limit;
  const clients = peaks.reduce((sum, one) => sum + one, 0);
  const [below, refused] = [peaks.slice(0, TENTHS), peaks[TENTHS] ?? 0];
  const [, top] = nice(0, Math.max(1, ...peaks), LINES);
  const width = SIZE / (TENTHS + 1);
  const draw = (n: number, i: number) => bar(i * width, width * 0.9, SIZE, SIZE - (n / top) * SIZE);
  const near = below.slice(8).reduce((sum, one) => sum + one, 0);
  const description =
    `Of ${plural(clients, "client")}, ${count(refused)} were refused, ` +
    `and ${count(near)} others used more than 80 % of the limit at some instant.`;
  const edges = [0, 20, 40, 60, 80, 100].map((tenths) => ({
    at: tenths / TENTHS / (TENTHS + 1),
    text: `${tenths} %`,
  }));
  return (
    <Chart
      {...{ id, title, description, height: 90 }}
      lines={ticks(0, top, LINES).flatMap((n) =>
        Number.isInteger(n) ? [{ at: n / top, text: n === 0 ? "" : count(n) }] : [],
      )}
      labels={[...edges.slice(0, -1), { at: 1, text: "refused" }]}
      table={<PeaksTable {...{ title, peaks, clients }} />}
    >
      <path class="admitted" d={below.map(draw).join("")} />
      <path class="refused" d={draw(refused, TENTHS)} />
    </Chart>
  );
}

function PeaksTable({ title, peaks, clients }: { title: string; peaks: readonly number[]; clients: number }) {
  const rows = peaks.map((n, i) => {
    return [i < TENTHS ? `${i * 10} to ${(i + 1) * 10} %` : "refused", count(n), percent(n, clients)];
  });
  const caption = `${title}: clients by the most that they have used of the limit`;
  return <Table caption={caption} headings={["Used at most", "Clients", "Share"]} rows={rows} />;
}
