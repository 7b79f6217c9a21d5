/** One policy: its numbers over time, its limits, and a form to change it. */

import type { PolicyAnswer } from "../api.ts";
import { live, policies } from "../data/live.ts";
import { RECENT_MINUTES } from "../data/stats.ts";
import { groupOf, latency, refusals, sum, sumBy, total, within } from "../data/sums.ts";
import { useValue } from "../data/value.ts";
import { useView, type View } from "../data/view.ts";
import { Match } from "../parts/match.tsx";
import { Loading, Notice } from "../parts/notice.tsx";
import { count, NONE, percent, rate } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
import { keyText, limitText } from "../parts/words.ts";
import { hrefOf } from "../route.ts";
import { EditPolicy } from "./edit-policy.tsx";
import { Models } from "./models.tsx";
import { MostLimited } from "./most-limited.tsx";
import { NoStats, Waiting } from "./no-counts.tsx";
import { Spent } from "./spent.tsx";
import { TimeChoice } from "./time-choice.tsx";
import { Together } from "./together.tsx";
import { Traffic } from "./traffic.tsx";

export function PolicyPage({ name }: { name: string }) {
  const known = useValue(policies);
  const view = useView();
  if (!known) return <Loading />;
  const policy = known.policies.find((one) => one.name === name);
  if (!policy) {
    return (
      <Notice title={`No policy is named ${name}`}>
        <a href={hrefOf("policies")}>All policies</a>
      </Notice>
    );
  }
  return (
    <>
      <p class="up">
        <a href={hrefOf("policies")}>Policies</a>
      </p>
      <h1>
        {name} {policy.mode === "shadow" && <span class="tag would">shadow: refuses nobody</span>}
      </h1>
      <p class="facts">
        <Match policy={policy} all={known.policies} />, counted by {keyText(policy.key)}; {policy.consistency}; if its
        store does not answer: <code>{policy.onStoreFailure}</code>
        {policy.overflow && (
          <>
            ; over its limits <a href={hrefOf("policies", policy.overflow)}>{policy.overflow}</a> pays
          </>
        )}
      </p>
      <Spent policy={policy} view={view} />
      <Limits policy={policy} view={view} />
      <Together key={name} policy={policy} view={view} />
      <Edit policy={policy} view={view} />
      {view ? <Numbers policy={policy} view={view} /> : <Waiting />}
      <NoStats />
    </>
  );
}

function Limits({ policy, view }: { policy: PolicyAnswer; view: View | undefined }) {
  const numbers = view?.numbers;
  const near = numbers ? within(numbers.stats.near, numbers.span) : [];
  const ofLimit = (list: typeof near, id: string) =>
    total(list.filter((one) => one.policy === policy.name && one.limit === id));
  const mine = numbers?.points.filter((point) => point.policy === policy.name) ?? [];
  const all = sum(mine);
  return (
    <Table
      caption={`Limits in force${numbers ? `, with counts ${numbers.text}` : ""}`}
      rows={policy.limits}
      keyOf={({ id }) => id}
      columns={[
        { heading: "Limit", cell: ({ id }) => id },
        {
          heading: "In force",
          cell: (limit) => (
            <>
              {limitText(limit, policy.meter?.unit)}
              {policy.live?.limits?.[limit.id] !== undefined && <small class="tag">changed live</small>}
            </>
          ),
        },
        { heading: "Algorithm", cell: ({ algorithm }) => algorithm },
        { heading: "Near", is: "number", cell: ({ id }) => (numbers ? percent(ofLimit(near, id), all.all) : NONE) },
      ]}
      foot={
        all.all === 0
          ? "No requests were counted in this time."
          : policy.mode === "shadow"
            ? `In shadow these limits would refuse ${percent(all.shadow_refused, all.all)} of the requests.`
            : `These limits refuse ${percent(refusals(all), all.all)} of the requests.`
      }
    />
  );
}

function Edit({ policy, view }: { policy: PolicyAnswer; view: View | undefined }) {
  const state = useValue(live);
  if (state.is === "off") {
    return (
      <p class="note">
        Nothing can be changed while the gateway runs: <code>LIVE_REFRESH</code> is <code>0s</code>. Change{" "}
        <code>wrangler.toml</code> and deploy.
      </p>
    );
  }
  const mine = view?.numbers.points.filter((point) => point.policy === policy.name);
  const [number, unit] = view ? rate(sum(mine!).all / view.numbers.seconds) : [];
  const traffic = view
    ? `That is ${number} requests ${unit === "/s" ? "a second" : unit === "/min" ? "a minute" : "an hour"} by now. How many clients send them is not counted.`
    : "How many they are is not known: there are no counts.";
  return <EditPolicy key={policy.name} policy={policy} traffic={traffic} />;
}

function Numbers({ policy, view }: { policy: PolicyAnswer; view: View }) {
  const points = view.chart.points.filter((point) => point.policy === policy.name);
  const top = view.state.recent!.top[policy.name] ?? [];
  return (
    <>
      <TimeChoice view={view} />
      <Traffic view={view} points={points} what={`requests of ${policy.name}`} />
      <Models policy={policy} view={view} />
      <div class="columns">
        <Breakdown what="region" points={points} nameOf={({ region }) => region} />
        <Breakdown
          what="who answered"
          points={points}
          nameOf={({ source }) => (groupOf(source) === "isolate" ? `isolate: ${source}` : source)}
        />
      </div>
      <MostLimited top={{ [policy.name]: top }} minutes={RECENT_MINUTES} atMost={12} />
      <Latency view={view} />
    </>
  );
}

interface BreakdownProps {
  readonly what: string;
  readonly points: View["chart"]["points"];
  readonly nameOf: Parameters<typeof sumBy>[1];
}

function Breakdown({ what, points, nameOf }: BreakdownProps) {
  return (
    <Table
      caption={`By ${what}, over the time of the chart`}
      rows={sumBy(points, nameOf)}
      keyOf={([name]) => name}
      columns={[
        { heading: what.replace(/^./, (first) => first.toUpperCase()), cell: ([name]) => name },
        { heading: "Requests", is: "number", cell: ([, { all }]) => count(all) },
        { heading: "Refused", is: "number", cell: ([, sums]) => percent(refusals(sums), sums.all) },
        { heading: "Would refuse", is: "number", cell: ([, sums]) => percent(sums.shadow_refused, sums.all) },
      ]}
    />
  );
}

function Latency({ view }: { view: View }) {
  const { stats, span } = view.chart;
  const places = [...Map.groupBy(within(stats.calls, span), ({ place }) => place)];
  if (places.length === 0) return null;
  return (
    <p class="note">
      Stores of this gateway, over the time of the chart:{" "}
      {places.map(([place, calls]) => `${place} ${count(latency(calls)!.count)} calls`).join(", ")}.
    </p>
  );
}
