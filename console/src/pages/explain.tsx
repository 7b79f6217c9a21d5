/** Why a request was refused: the token of its answer, as a sentence, then as numbers. */

import { useEffect, useState } from "preact/hooks";
import { api, type Explained } from "../api.ts";
import { admin, Command } from "../parts/command.tsx";
import { Failed } from "../parts/notice.tsx";
import { amount, duration, NONE, plural, shortHash } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
import { OnDay, Time } from "../parts/time.tsx";
import { hrefOf } from "../route.ts";

export function Explain() {
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ readonly explained?: Explained; readonly error?: unknown }>();
  // People paste the whole header line.
  const token = text.trim().replace(/^headgate-explain:\s*/i, "");

  useEffect(() => {
    setFound(undefined);
    if (token === "") return;
    let isWanted = true;
    const timer = setTimeout(() => {
      api.explain(token).then(
        (explained) => isWanted && setFound({ explained }),
        (error: unknown) => isWanted && setFound({ error }),
      );
    }, 200);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [token]);

  return (
    <>
      <h1>Explain</h1>
      <label>
        <span>
          Token: the <code>Headgate-Explain</code> header of a refusal, at most 10 minutes old
        </span>
        <textarea rows={3} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {token === "" && (
        <p class="note">
          Refusals carry a token when <code>EXPLAIN</code> is <code>"on"</code>. Only this gateway can read it.
        </p>
      )}
      <div aria-live="polite">
        {found?.error !== undefined && <Failed error={found.error} />}
        {found?.explained && <Decision decision={found.explained} />}
      </div>
      {token !== "" && <Command text={admin("explain", token)} />}
    </>
  );
}

function Decision({ decision }: { decision: Explained }) {
  const { policies, limits, violated, shadow, at, region, source, version, omitted, calls } = decision;
  return (
    <article>
      <p class="sentence">
        <Sentence decision={decision} />
      </p>
      {calls && (
        <p class="note">It called {calls.map((call) => (call === "?" ? "something unreadable" : call)).join(", ")}.</p>
      )}
      <Table
        caption={
          <>
            Its limits, at <Time ms={Date.parse(at)} exact />, in {region}, answered by {source}
            {version !== null && `, live v${version}`}
          </>
        }
        rows={limits}
        keyOf={({ id }) => id}
        columns={[
          { heading: "Limit", cell: ({ id }) => id },
          { heading: "Policy", cell: ({ policy }) => policy },
          { heading: "Limit", is: "number", cell: ({ limit, unit, per }) => `${amount(limit, unit)} ${per}` },
          { heading: "Remaining", is: "number", cell: ({ remaining, unit }) => amount(remaining, unit) },
          { heading: "Admits after", is: "number", cell: ({ retryAfterMs }) => waitText(retryAfterMs) },
          { heading: "Full again after", is: "number", cell: ({ resetAfterMs }) => duration(resetAfterMs) },
          {
            heading: "Said",
            cell({ id }) {
              if (violated.includes(id)) return <span class="refused">no</span>;
              return shadow.includes(id) ? <span class="would">would refuse</span> : "yes";
            },
          },
        ]}
      />
      {omitted && (
        <p class="note">
          Not in the token, for lack of space: {plural(omitted.limits, "limit")},{" "}
          {plural(omitted.policies, "policy", "policies")}.
        </p>
      )}
      <Table
        caption="Who was counted"
        rows={policies}
        keyOf={({ policy }) => policy}
        columns={[
          { heading: "Policy", cell: ({ policy }) => <a href={hrefOf("policies", policy)}>{policy}</a> },
          {
            heading: "Client",
            cell: ({ policy, kind, key }) => (
              <a href={hrefOf("clients", policy, key)}>
                {kind} <code title={key}>{shortHash(key)}</code>
              </a>
            ),
          },
          { heading: "Cost", is: "number", cell: ({ cost, unit }) => amount(cost, unit) },
          {
            heading: "Mode",
            cell: ({ mode = "enforce", overflowOf }) =>
              overflowOf === undefined ? mode : `${mode}, pays after ${overflowOf}`,
          },
        ]}
      />
    </article>
  );
}

function waitText(ms: number | undefined): string {
  if (ms === undefined) return "never";
  return ms === 0 ? NONE : duration(ms);
}

/** What one would say aloud. */
function Sentence({ decision }: { decision: Explained }) {
  const { at, region, method, path, limits, policies, violated, retryAfterMs, failure, source } = decision;
  const limit = limits.find(({ id }) => id === violated[0]);
  const client = policies.find(({ policy }) => policy === limit?.policy) ?? policies[0];
  const request = (
    <>
      At <Time ms={Date.parse(at)} exact /> in {region}, <code>{`${method} ${path}`}</code>
    </>
  );
  if (source === "live") {
    return (
      <>
        {request} was <b>blocked</b> by the live document{client && `, under ${client.policy}`}
        {retryAfterMs === undefined ? ", without an end" : `, for ${duration(retryAfterMs)} more`}.
      </>
    );
  }
  if (violated.length > 0 && !limit) {
    return (
      <>
        {request} was <b>refused by {violated.join(", ")}</b>. Its numbers did not fit into the token.
      </>
    );
  }
  if (!limit) {
    return (
      <>
        {request} was <b>not answered by its store</b>
        {failure && ` (${failure})`}, and its policy refuses in that case.
      </>
    );
  }
  return (
    <>
      {request} was <b>refused by {limit.id}</b>: of {amount(limit.limit, limit.unit)} {limit.per},{" "}
      {amount(limit.remaining, limit.unit)} were left for{" "}
      {client && (
        <>
          {client.kind} <code>{shortHash(client.key)}</code>
        </>
      )}
      , and it costs {amount(client?.cost ?? 1, client?.unit)}.{" "}
      {limit.retryAfterMs === undefined ? (
        "It costs more than the limit: it can never pass."
      ) : (
        <>
          It would have passed {duration(limit.retryAfterMs)} later
          <OnDay ms={Date.parse(at) + limit.retryAfterMs} afterMs={limit.retryAfterMs} />.
        </>
      )}
      {violated.length > 1 && ` ${violated.slice(1).join(", ")} refused too.`}
      {source === "shared" && " The Worker instance decided by its part of the counts: these numbers are its estimate."}
      {source === "fallback" &&
        ` The Worker instance decided alone: its store did not answer${failure ? ` (${failure})` : ""}.`}
    </>
  );
}
