/** @jsxImportSource hono/jsx */

/** A suggestion: the share of refused requests of each candidate. Both axes are logarithmic. */

import type { Suggestion } from "../engine/summary.ts";
import { Chart, type Label, type Mark, SIZE } from "./chart.tsx";
import { count, limitNumber, percent, share } from "./numbers.ts";
import { Table } from "./table.tsx";
import { suggestionText } from "./text.ts";

export function Suggested({ id, suggestion }: { id: string; suggestion: Suggestion }) {
  const { rungs: candidates, present, suggested, share: asked } = suggestion;
  const title = suggestionText(suggestion);
  const numbers = [...candidates.map(({ limit }) => limit), present];
  const [least, most] = [Math.log(Math.min(...numbers)), Math.log(Math.max(...numbers))];
  const x = (limit: number) => 0.03 + 0.94 * ((Math.log(limit) - least) / Math.max(most - least, 1e-9));
  const floor = floorOf(suggestion);
  // A logarithm has no room for nothing: it is the bottom line, one decade below the last share.
  const y = (part: number) => (part <= floor ? 0 : 1 - Math.log10(part) / Math.log10(floor));
  const points = candidates.map((one) => ({ ...one, x: x(one.limit), y: y(one.refused / Math.max(1, one.requests)) }));
  const path = points.map((one, i) => `${i === 0 ? "M" : "L"}${unit(one.x)} ${unit(1 - one.y)}`).join("");

  const decades = Array.from({ length: Math.round(-Math.log10(floor)) }, (_, i) => 10 ** -i);
  const lines: Label[] = [...decades.map((part) => ({ at: y(part), text: share(part) })), { at: 0, text: "0 %" }];
  const isNear = suggested !== undefined && Math.abs(x(suggested) - x(present)) < 0.2;
  const marks: Mark[] = [
    { x: x(present), className: "present", ...(!isNear && { text: `now ${limitNumber(present)}` }) },
    ...points.map((one) => ({ x: one.x, y: one.y, className: one.limit === suggested ? "suggested" : "candidate" })),
  ];
  if (suggested !== undefined) {
    const text = isNear ? `${limitNumber(suggested)} (now ${limitNumber(present)})` : limitNumber(suggested);
    marks.unshift({ x: x(suggested), className: "suggested", text });
  }
  const quarters = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * (candidates.length - 1)));
  const labels = [...new Set(quarters)].map((i) => ({
    at: x(candidates[i]!.limit),
    text: limitNumber(candidates[i]!.limit),
  }));
  const description =
    `From ${share(candidates[0]!.refused / Math.max(1, candidates[0]!.requests))} refused at ${limitNumber(candidates[0]!.limit)} ` +
    `to ${share(candidates.at(-1)!.refused / Math.max(1, candidates.at(-1)!.requests))} at ${limitNumber(candidates.at(-1)!.limit)}.`;
  return (
    <Chart
      {...{ id, title, description, lines, labels, marks, height: 150 }}
      table={<CandidatesTable {...suggestion} />}
    >
      <path class="asked" d={`M0 ${unit(1 - y(asked))}H${SIZE}`} />
      <path class="curve" d={path} />
    </Chart>
  );
}

/** A whole decade below the smallest share that is drawn, and below the one that was asked for. */
function floorOf({ rungs: candidates, share: asked }: Suggestion): number {
  const shares = candidates.flatMap(({ refused, requests }) => (refused > 0 ? [refused / requests] : []));
  const smallest = Math.max(1e-6, Math.min(asked, ...shares));
  return 10 ** (Math.ceil(Math.log10(smallest)) - 1);
}

function unit(part: number): number {
  return Math.round(part * SIZE * 10) / 10;
}

function CandidatesTable({ policy, limit, present, suggested, rungs: candidates, share: asked }: Suggestion) {
  const rows = candidates.map(({ limit, refused, requests, refusedClients }) => [
    <>
      {limitNumber(limit)}
      {limit === present && " (now)"}
      {limit === suggested && <b> (less than {share(asked)})</b>}
    </>,
    ...[count(refused), percent(refused, requests), count(refusedClients)],
  ]);
  const caption = `What other numbers of ${limit} would have refused under ${policy}, if it were the only limit`;
  return <Table caption={caption} headings={["Number", "Refused", "Share", "Clients refused"]} rows={rows} />;
}
