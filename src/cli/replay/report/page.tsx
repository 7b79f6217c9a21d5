/** @jsxImportSource hono/jsx */

/** The report as one HTML file: no scripts, and nothing from elsewhere. JSX escapes what logs and files contain. */

import { createHash } from "node:crypto";
import { raw } from "hono/html";
import type {
  ChainSummary,
  ChangedCount,
  Comparison,
  ConfigurationSummary,
  Named,
  PolicySummary,
  Suggestion,
  Summary,
} from "../engine/summary.ts";
import { CHAIN_HEADINGS, chainRows, PAYER_HEADINGS, payerRows, unitsOf } from "./chains.ts";
import { COSTS_HEADINGS, costsRows } from "./costs.ts";
import { bytes, count, instant, percent, plural } from "./numbers.ts";
import { mostOf, OverTime } from "./over-time.tsx";
import { STYLE } from "./page-style.ts";
import { Peaks } from "./peaks.tsx";
import { Suggested } from "./suggested.tsx";
import { Scroll, Table } from "./table.tsx";
import { suggestionText } from "./text.ts";

const CSP = `default-src 'none';style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}';img-src data:;base-uri 'none';form-action 'none'`;

export function renderReport(summary: Summary): string {
  const { log, configurations, comparison, notes } = summary;
  const names = configurations.map(({ name }) => name);
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <meta http-equiv="Content-Security-Policy" content={CSP} />
        <title>Replay: {names.join(" and ")}</title>
        <link rel="icon" href="data:," />
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <header>
          <h1>Replay</h1>
          <p>
            What {names.length > 1 ? <Names names={names} /> : <b>{names[0]}</b>} would have decided over{" "}
            {plural(log.requests, "request")} in {plural(log.files, "file")} ({bytes(log.bytes)},{" "}
            {plural(log.lines, "line")})
            {log.requests > 0 && (
              <>
                , from {instant(log.fromMs)} to {instant(log.toMs)} UTC
              </>
            )}
            .
          </p>
          <dl>
            {configurations.map(({ name, requests }) => (
              <div>
                <dt>Refused by {name}</dt>
                <dd>
                  {percent(requests.refused, requests.requests)} <small>{count(requests.refused)}</small>
                </dd>
              </div>
            ))}
            {comparison && (
              <>
                <Tile name="Newly refused" changed={comparison.requests.newlyRefused} />
                <Tile name="Newly admitted" changed={comparison.requests.newlyAdmitted} />
              </>
            )}
          </dl>
        </header>
        <main>
          <Key />
          <Times
            id="all"
            of={configurations.map(({ name, timeline }) => ({ title: `${name}: all requests`, timeline }))}
          />
          <Policies configurations={configurations} />
          {comparison && <Compared comparison={comparison} names={names} />}
          {policyNames(configurations).map((name, i) => (
            <Policy id={`p${i}`} name={name} summary={summary} />
          ))}
          {notes.length > 0 && <h2>Notes</h2>}
          <ul>
            {notes.map((note) => (
              <li>{note}</li>
            ))}
          </ul>
        </main>
      </body>
    </html>
  );
  return `<!doctype html>${page}\n`;
}

function Names({ names }: { names: readonly string[] }) {
  return (
    <>
      <b>{names[0]}</b>, and <b>{names[1]}</b> instead of it,
    </>
  );
}

function Tile({ name, changed }: { name: string; changed: ChangedCount }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {count(changed.requests)} <small>of {plural(changed.clients, "client")}</small>
      </dd>
    </div>
  );
}

function Key() {
  const swatch = (is: string) => (
    <svg width="12" height="12" aria-hidden="true">
      <rect class={is} width="12" height="12" />
    </svg>
  );
  return (
    <ul class="key">
      <li>{swatch("admitted")}admitted</li>
      <li>{swatch("refused")}refused; in a policy in shadow: would have been</li>
    </ul>
  );
}

/** One chart under the other, on the same scale. */
function Times({ id, of }: { id: string; of: readonly { title: string; timeline: PolicySummary["timeline"] }[] }) {
  const most = Math.max(...of.map(({ timeline }) => mostOf(timeline)));
  return (
    <>
      {of.map(({ title, timeline }, i) => (
        <OverTime id={`${id}-time-${i}`} {...{ title, timeline, most }} />
      ))}
    </>
  );
}

function Policies({ configurations }: { configurations: readonly ConfigurationSummary[] }) {
  const headings = ["Policy", "Requests", "Refused", "Share", "Clients", "Refused", "Share", "Near misses"];
  const rowOf = (one: PolicySummary) => [
    <>
      <b>{one.policy}</b>
      {one.mode === "shadow" && " (shadow)"}
      {one.isOverflow && " (overflow)"}
    </>,
    ...[count(one.requests), count(one.refused), percent(one.refused, one.requests)],
    ...[count(one.clients), count(one.refusedClients), percent(one.refusedClients, one.clients)],
    count(one.nearMisses),
  ];
  return (
    <>
      <h2>Policies</h2>
      {configurations.map(({ name, policies, chains = [], skipped, costs = [] }) => (
        <>
          <Scroll name={`Policies of ${name}`}>
            <Table caption={name} headings={headings} rows={policies.map(rowOf)} />
          </Scroll>
          {chains.length > 0 && <Chains name={name} chains={chains} />}
          {costs.length > 0 && (
            <Scroll name={`What calls cost under ${name}`}>
              <Table
                caption="What calls cost"
                headings={["Policy", ...COSTS_HEADINGS.map(capital)]}
                rows={costsRows(costs)}
              />
            </Scroll>
          )}
          {skipped.map(({ policy, reason }) => (
            <p>
              Not replayed: <b>{policy}</b>: {reason}
            </p>
          ))}
        </>
      ))}
      <p class="m">Near misses: clients that were never refused and used at least 80 % of a limit at some instant.</p>
    </>
  );
}

/** Who paid, and the clients of overflows that paid most. */
function Chains({ name, chains }: { name: string; chains: readonly ChainSummary[] }) {
  return (
    <>
      <Scroll name={`Who paid under ${name}`}>
        <Table caption="Who paid" headings={CHAIN_HEADINGS.map(capital)} rows={chainRows(chains)} texts={[1]} />
      </Scroll>
      {chains.flatMap(({ policy, unit, payers }) =>
        payers.map(({ policy: payer, top }) => {
          if (top.length === 0) return null;
          const caption = `${name}: clients of ${payer} that paid most for ${policy}`;
          const rows = top.map(({ requests, units, ...client }) => {
            return [<Client {...client} />, count(requests), unitsOf(units, unit)];
          });
          return (
            <Scroll name={caption}>
              <Table caption={caption} headings={["Client", "Requests", "Units"]} rows={rows} />
            </Scroll>
          );
        }),
      )}
    </>
  );
}

const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1);

function Compared({ comparison, names }: { comparison: Comparison; names: readonly string[] }) {
  const { requests, policies, payers = [], added, removed } = comparison;
  const rows = [{ policy: "all requests", ...requests }, ...policies].map(({ policy, newlyRefused, newlyAdmitted }) => [
    policy,
    ...[newlyRefused, newlyAdmitted].flatMap((changed) => [count(changed.requests), count(changed.clients)]),
  ]);
  return (
    <>
      <h2>
        {names[1]} instead of {names[0]}
      </h2>
      <Scroll name="What changes">
        <Table
          caption="Requests that the one admits and the other refuses"
          headings={["Policy", "Newly refused", "Clients", "Newly admitted", "Clients"]}
          rows={rows}
        />
      </Scroll>
      {payers.length > 0 && (
        <Scroll name="Who pays instead">
          <Table
            caption="Requests for which another one pays"
            headings={PAYER_HEADINGS.map(capital)}
            rows={payerRows(payers)}
            texts={[1, 2]}
          />
        </Scroll>
      )}
      {added.length > 0 && (
        <p>
          Only in {names[1]}: {added.join(", ")}
        </p>
      )}
      {removed.length > 0 && (
        <p>
          Only in {names[0]}: {removed.join(", ")}
        </p>
      )}
      <Examples name="Newly refused: the clients with the most" changed={requests.newlyRefused} />
      <Examples name="Newly admitted: the clients with the most" changed={requests.newlyAdmitted} />
    </>
  );
}

function Examples({ name, changed }: { name: string; changed: ChangedCount }) {
  if (changed.examples.length === 0) return null;
  const rows = changed.examples.map(({ requests, atMs, policy, request, ...client }) => [
    <Client {...client} />,
    count(requests),
    instant(atMs),
    policy,
    <code>{request}</code>,
  ]);
  const headings = ["Client", "Requests", "First at (UTC)", "Policy", "Request"];
  return (
    <Scroll name={name}>
      <Table caption={name} headings={headings} rows={rows} texts={[3, 4]} />
    </Scroll>
  );
}

function Client({ client, kind, key }: Named) {
  return (
    <>
      {kind} <code>{key ?? client}</code>
    </>
  );
}

/** One policy, in each configuration that has it. */
function Policy({ id, name, summary }: { id: string; name: string; summary: Summary }) {
  const { configurations, suggestions = [] } = summary;
  const found = configurations.flatMap((one) =>
    one.policies.filter(({ policy }) => policy === name).map((policy) => ({ in: one.name, policy })),
  );
  const ofPolicy = suggestions.filter(({ policy }) => policy === name);
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      <Times
        id={id}
        of={found.map((one) => ({ title: `${one.in}: requests of ${name}`, timeline: one.policy.timeline }))}
      />
      <h3>Clients by the most that they have used of a limit</h3>
      <div class="two">
        {found.flatMap((one, c) =>
          one.policy.limits.map((limit, l) => (
            <Peaks id={`${id}-peaks-${c}-${l}`} title={`${one.in}: ${limit.id}, ${limit.words}`} limit={limit} />
          )),
        )}
      </div>
      {ofPolicy.length > 0 && <Suggestions id={id} suggestions={ofPolicy} />}
      {found.map((one) => (
        <TopRefused name={`${one.in}: clients that ${name} refused most often`} policy={one.policy} />
      ))}
    </section>
  );
}

function Suggestions({ id, suggestions }: { id: string; suggestions: readonly Suggestion[] }) {
  return (
    <>
      <h3>Share of requests that other numbers would have refused, each limit alone</h3>
      {suggestions.map((suggestion, i) =>
        suggestion.rungs.length === 0 ? (
          <p>{suggestionText(suggestion)}</p>
        ) : (
          <Suggested id={`${id}-candidates-${i}`} suggestion={suggestion} />
        ),
      )}
    </>
  );
}

function TopRefused({ name, policy }: { name: string; policy: PolicySummary }) {
  if (policy.topRefused.length === 0) return null;
  const rows = policy.topRefused.map(({ requests, refused, ...client }) => [
    <Client {...client} />,
    ...[count(requests), count(refused), percent(refused, requests)],
  ]);
  return (
    <Scroll name={name}>
      <Table caption={name} headings={["Client", "Requests", "Refused", "Share"]} rows={rows} />
    </Scroll>
  );
}

/** In the order in which they stand, the present configuration's first. */
function policyNames(configurations: readonly ConfigurationSummary[]): string[] {
  return [...new Set(configurations.flatMap(({ policies }) => policies.map(({ policy }) => policy)))];
}
