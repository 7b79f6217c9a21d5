/** Who is being limited, is it right, and what to do: everything at a glance, and each number leads to its page. */

import { MEANINGS } from "../charts/meaning.ts";
import { ShareBar } from "../charts/share-bar.tsx";
import { Spark } from "../charts/spark.tsx";
import { policies } from "../data/live.ts";
import { RECENT_MINUTES } from "../data/stats.ts";
import { along, latency, NOTHING, refusals, sum, sumBy, total, within } from "../data/sums.ts";
import { useValue } from "../data/value.ts";
import { useView, type View } from "../data/view.ts";
import { Loading } from "../parts/notice.tsx";
import { atMost, count, duration, milliseconds, NONE, percent, plural, rate } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
import { hrefOf } from "../route.ts";
import { MostLimited } from "./most-limited.tsx";
import { NoRequests, NoStats, Waiting } from "./no-counts.tsx";
import { TimeChoice } from "./time-choice.tsx";
import { Answers, Traffic } from "./traffic.tsx";

export function Overview() {
  const view = useView();
  return (
    <>
      <h1 class="unseen">Overview</h1>
      {view ? <Counted view={view} /> : <Waiting />}
      <NoStats />
    </>
  );
}

function Counted({ view }: { view: View }) {
  if (view.state.recent?.heard === null) return <NoRequests />;
  return (
    <>
      <Alerts view={view} />
      <Tiles view={view} />
      <TimeChoice view={view} />
      <Traffic view={view} points={view.chart.points} what="decisions" />
      <Answers view={view} />
      <PolicyTable view={view} />
      <MostLimited top={view.state.recent!.top} minutes={RECENT_MINUTES} />
    </>
  );
}

/** What an operator must know before any number. */
function Alerts({ view }: { view: View }) {
  const { open } = view.state.recent!;
  const silent = total(within(view.numbers.stats.fallback, view.numbers.span));
  if (open.length === 0 && silent === 0) return null;
  return (
    <div class="alerts" role="status">
      {open.map(({ place, isolates }) => (
        <p key={place}>
          <b>{place} does not answer.</b> The breaker is open in {plural(isolates, "Worker instance")}; each policy does
          what its <code>onStoreFailure</code> says.
        </p>
      ))}
      {silent > 0 && (
        <p>
          {count(silent)} decisions without their store, {view.numbers.text}.
        </p>
      )}
    </div>
  );
}

function Tiles({ view }: { view: View }) {
  const { points, stats, span, seconds, text } = view.numbers;
  const sums = sum(points);
  const near = total(within(stats.near, span));
  const store = latency(within(stats.calls, span));
  const [number, unit] = rate(sums.all / seconds);
  return (
    <dl class="tiles" aria-label={`Numbers, ${text}`}>
      <Tile name="decisions" value={number} unit={unit} note={`one for each request and policy, ${text}`} />
      <Tile
        name="refused"
        value={percent(refusals(sums), sums.all)}
        note={`${count(refusals(sums))}${sums.blocked > 0 ? `, of them ${count(sums.blocked)} blocked` : ""}`}
        is={refusals(sums) > 0 ? "refused" : undefined}
      />
      <Tile name="near the limit" value={percent(near, sums.all)} note="admitted with 5 % or less left" />
      <Tile
        name="answered in the isolate"
        value={percent(sums.isolate, sums.all)}
        note={`${count(sums.store)} asked a store`}
      />
      <Tile
        name="store p50 / p99, at most"
        value={store ? atMost(store.p50, store.p99) : NONE}
        {...(store && { unit: "ms" })}
        note={
          store
            ? `mean ${milliseconds(store.mean)}, ${store.failed === 0 ? "none failed" : `${percent(store.failed, store.count)} failed`}`
            : "no store was asked"
        }
      />
    </dl>
  );
}

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly unit?: string;
  readonly note: string;
  readonly is?: string | undefined;
}

function Tile({ name, value, unit, note, is }: TileProps) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd class={is ? `value ${is}` : "value"}>
        {value}
        {unit && <small>{unit}</small>}
      </dd>
      <dd class="note">{note}</dd>
    </div>
  );
}

function PolicyTable({ view }: { view: View }) {
  const known = useValue(policies)?.policies;
  const { chart } = view;
  const { points, stats, span, seconds, text } = view.numbers;
  // Without them nothing tells a policy in shadow from one that is enforced, or is deployed no more.
  if (!known) return <Loading />;
  const counted = new Map(sumBy(points, ({ policy }) => policy));
  const near = within(stats.near, span);
  const names = [...new Set([...known.map(({ name }) => name), ...counted.keys()])];
  const rows = names.map((name) => {
    const sums = counted.get(name) ?? NOTHING;
    const mode = known.find((each) => each.name === name)?.mode;
    const isShadow = mode === "shadow";
    return {
      name,
      sums,
      mode,
      is: isShadow ? "would" : "refused",
      felt: isShadow ? sums.shadow_refused : refusals(sums),
    };
  });
  rows.sort((a, b) => b.sums.all - a.sums.all);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
    <section class="scroll" aria-label="Policies" tabIndex={0}>
      <Table
        class="policies"
        caption={`Policies, ${text}`}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { heading: "Policy", cell: ({ name }) => <a href={hrefOf("policies", name)}>{name}</a> },
          {
            heading: "Requests",
            is: "number",
            cell: ({ sums: { all } }) => (all === 0 ? NONE : rate(all / seconds).join("")),
          },
          {
            heading: "Refused",
            is: "number",
            cell: ({ sums, felt, is }) => <span class={felt > 0 ? is : ""}>{percent(felt, sums.all)}</span>,
          },
          {
            heading: `Over ${duration(chart.span.toMs - chart.span.fromMs)}`,
            short: "Over time",
            cell: ({ name, is }) => <Refusals view={view} name={name} is={is} />,
          },
          {
            heading: "Near",
            is: "number",
            cell: ({ name, sums }) => percent(total(near.filter(({ policy }) => policy === name)), sums.all),
          },
          { heading: "Who answered", cell: ({ sums }) => <ShareBar sums={sums} /> },
          {
            heading: "Mode",
            cell: ({ is, mode = "not deployed" }) =>
              is === "would" ? <span class="would">shadow: would refuse</span> : mode,
          },
        ]}
      />
    </section>
  );
}

/** @param is whether its policy refuses, or only would. */
function Refusals({ view: { chart }, name, is }: { view: View; name: string; is: string }) {
  const points = chart.points.filter(({ policy }) => policy === name);
  const { outcomes = [] } = MEANINGS.find((one) => one.is === is) ?? {};
  return (
    <Spark
      counts={along(points, chart.grid, ({ outcome }) => outcomes.includes(outcome))}
      of={along(points, chart.grid)}
      is={is}
      label={`${name}: share ${is === "would" ? "that would have been refused" : "refused"}, over time`}
    />
  );
}
