/** @jsxImportSource hono/jsx */

/** Admitted and refused requests over time, as stacked bars. */

import { nice, ticks } from "d3-array";
import { utcDay, utcTicks } from "d3-time";
import type { Timeline } from "../engine/summary.ts";
import { bar, Chart, type Label, SIZE } from "./chart.tsx";
import { count, duration, instant, percent } from "./numbers.ts";
import { Table } from "./table.tsx";

const [BARS, ROWS] = [120, 24];
const LINES = 3;
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

/** @param most of the axis, so that two charts can be compared. */
export function OverTime(props: { id: string; title: string; timeline: Timeline; most: number }) {
  const { id, title, timeline, most } = props;
  const steps = merged(timeline, BARS);
  const [, top] = nice(0, Math.max(1, most), LINES);
  const [width, y] = [SIZE / steps.length, (n: number) => SIZE - (n / top) * SIZE];
  const bars = (from: (step: Step) => number, to: (step: Step) => number) =>
    steps.map((step, i) => bar(i * width, width * 0.86, y(from(step)), y(to(step)))).join("");
  const [admitted, refused] = [sumOf(timeline.admitted), sumOf(timeline.refused)];
  const worst = steps.reduce((most, step) => (step.refused > most.refused ? step : most), steps[0]!);
  const description =
    `${count(admitted)} requests admitted and ${count(refused)} refused, in steps of ${duration(steps[0]!.ms)}.` +
    (refused === 0 ? "" : ` Most were refused at ${instant(worst.fromMs)} UTC: ${count(worst.refused)}.`);
  return (
    <Chart
      {...{ id, title, description, height: 120 }}
      lines={ticks(0, top, LINES).map((n) => ({ at: n / top, text: n === 0 ? "" : COMPACT.format(n) }))}
      labels={timeLabels(steps[0]!.fromMs, steps.at(-1)!.fromMs + steps.at(-1)!.ms)}
      table={<OverTimeTable title={title} steps={merged(timeline, ROWS)} />}
    >
      <path
        class="admitted"
        d={bars(
          () => 0,
          (step) => step.admitted,
        )}
      />
      <path
        class="refused"
        d={bars(
          (step) => step.admitted,
          (step) => step.admitted + step.refused,
        )}
      />
    </Chart>
  );
}

/** The highest bar. */
export function mostOf(timeline: Timeline): number {
  return Math.max(0, ...merged(timeline, BARS).map(({ admitted, refused }) => admitted + refused));
}

function OverTimeTable({ title, steps }: { title: string; steps: readonly Step[] }) {
  const rows = steps.map(({ fromMs, admitted, refused }) => {
    return [instant(fromMs), count(admitted), count(refused), percent(refused, admitted + refused)];
  });
  const caption = `${title}: requests per ${duration(steps[0]!.ms)}`;
  return <Table caption={caption} headings={["From (UTC)", "Admitted", "Refused", "Share"]} rows={rows} />;
}

interface Step {
  readonly fromMs: number;
  readonly ms: number;
  readonly admitted: number;
  readonly refused: number;
}

/** Makes at most this many steps by adding up neighbours. At least one step, which may be empty. */
function merged({ fromMs, stepMs, admitted, refused }: Timeline, most: number): Step[] {
  const together = Math.max(1, Math.ceil(admitted.length / most));
  const length = Math.max(1, Math.ceil(admitted.length / together));
  return Array.from({ length }, (_, i) => {
    const slice = (counts: readonly number[]) => sumOf(counts.slice(i * together, (i + 1) * together));
    const ms = stepMs * together;
    return { fromMs: fromMs + i * ms, ms, admitted: slice(admitted), refused: slice(refused) };
  });
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, one) => sum + one, 0);
}

/** Round instants in UTC: the day at midnight, and the time at any other. Labels must not touch on a phone. */
function timeLabels(fromMs: number, toMs: number): Label[] {
  const [wished, least] = [4, 0.16];
  const labels: Label[] = [];
  for (const at of utcTicks(new Date(fromMs), new Date(toMs), wished)) {
    const share = (at.getTime() - fromMs) / (toMs - fromMs);
    if (share - (labels.at(-1)?.at ?? -1) < least) continue;
    const isDay = utcDay(at).getTime() === at.getTime();
    const isMinute = at.getTime() % 60_000 === 0;
    const text = isDay ? instant(at.getTime()).slice(5, 10) : instant(at.getTime()).slice(11, isMinute ? 16 : 19);
    labels.push({ at: share, text });
  }
  return labels;
}
