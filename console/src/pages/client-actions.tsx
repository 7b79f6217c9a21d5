/** What can be done about a client: each opens a form with the diff, the command, and for how long. */

import { useState } from "preact/hooks";
import type { Effect, Policy } from "../api.ts";
import type { Change } from "../changes/change.ts";
import { ChangePanel } from "../changes/change-panel.tsx";
import { type Client, changeOverride, nameOf, resetCounts, withoutBlock, wordsOf } from "../changes/client-changes.ts";
import { live, policyNamed } from "../data/live.ts";
import { useValue } from "../data/value.ts";
import { isNumberText, NumberField, TextField, type Until, UntilField, untilOf } from "../parts/fields.tsx";
import { amount } from "../parts/numbers.ts";
import { Panel } from "../parts/panel.tsx";

interface ClientActionsProps {
  readonly client: Client;
  readonly before: Effect | undefined;
  onChanged(): void;
}

type Action = "reset" | "block" | "unblock" | "exempt" | "override" | "remove";

export function ClientActions({ client, before, onChanged }: ClientActionsProps) {
  const [action, setAction] = useState<Action>();
  const state = useValue(live);
  const policy = policyNamed(client.policy);
  const close = () => setAction(undefined);
  const done = () => {
    close();
    onChanged();
  };
  const offered: readonly (readonly [Action, string, boolean])[] = [
    ["block", "Block", !before?.block],
    ["unblock", "Lift the block", before?.block === true],
    ["override", "Other limits", true],
    ["exempt", "Exempt", !before?.exempt],
    ["remove", "Remove the override", before !== undefined],
  ];
  const actions = state.is === "on" ? offered.filter(([, , isOffered]) => isOffered) : [];
  return (
    <div class="actions">
      <p class="buttons">
        {client.raw && (
          <button type="button" aria-expanded={action === "reset"} onClick={() => setAction("reset")}>
            Reset counts
          </button>
        )}
        {actions.map(([name, text]) => (
          <button key={name} type="button" aria-expanded={action === name} onClick={() => setAction(name)}>
            {text}
          </button>
        ))}
      </p>
      {state.is === "off" && (
        <p class="note">
          <code>LIVE_REFRESH</code> is <code>0s</code>: this gateway reads no live document, so no client can be blocked
          or given other limits.
        </p>
      )}
      {action && policy && (
        <ActionForm
          key={action}
          action={action}
          policy={policy}
          client={client}
          before={before}
          onDone={done}
          onCancel={close}
        />
      )}
    </div>
  );
}

interface ActionFormProps {
  readonly action: Action;
  readonly policy: Policy;
  readonly client: Client;
  readonly before: Effect | undefined;
  onDone(): void;
  onCancel(): void;
}

const VERBS: Readonly<Record<Action, string>> = {
  ...{ reset: "Reset", block: "Block", unblock: "Lift the block" },
  ...{ override: "Set", exempt: "Exempt", remove: "Remove" },
};

function ActionForm({ action, policy, client, before, onDone, onCancel }: ActionFormProps) {
  const [until, setUntil] = useState<Until>(untilOf("1h"));
  const [note, setNote] = useState("");
  const [factor, setFactor] = useState("2");
  const [plan, setPlan] = useState("");
  const [limits, setLimits] = useState<Readonly<Record<string, string>>>({});
  const plans = Object.keys(policy.plans ?? {});
  const numbers = Object.entries(limits).filter(([, text]) => text !== "");
  const common = { ...(until.instant && { until: until.instant }), ...(note.trim() && { note: note.trim() }) };

  function change(): Change | undefined {
    const name = `${nameOf(client)} under ${policy.name}`;
    const set = (after: Effect | undefined, title: string, isDangerous: boolean, command = wordsOf(after, until)) =>
      changeOverride(client, before, after, { title: `${title} ${name}`, isDangerous, command });
    switch (action) {
      case "reset":
        return client.raw && resetCounts({ ...client, raw: client.raw });
      case "block":
        return set({ ...before, block: true, ...common }, "Block", true);
      case "unblock":
        return set(withoutBlock(before!), "Lift the block of", false, ["unblock", "…"]);
      case "exempt":
        return set({ exempt: true, ...common }, "Exempt", true);
      case "remove":
        return set(undefined, "Remove the override of", false);
      case "override": {
        const own = Object.fromEntries(numbers.map(([id, text]) => [id, Number(text)]));
        const given = {
          ...(plan && { plan }),
          ...(numbers.length > 0 ? { limits: own } : Number(factor) > 0 && !plan && { factor: Number(factor) }),
        };
        const isRight = numbers.every(([, text]) => isNumberText(text, policy.meter?.unit));
        return !isRight || Object.keys(given).length === 0
          ? undefined
          : set({ ...given, ...common }, "Other limits for", false);
      }
    }
  }

  const made = change();
  const lasts = action === "block" || action === "exempt" || action === "override";
  return (
    <Panel label={`${VERBS[action]}: ${nameOf(client)}`}>
      {action === "override" && (
        <div class="fields">
          <label>
            Times as much
            <input
              value={numbers.length > 0 || plan ? "" : factor}
              inputMode="decimal"
              onInput={(event) => setFactor(event.currentTarget.value)}
              disabled={numbers.length > 0 || plan !== ""}
            />
          </label>
          {policy.limits.map(({ id, limit }) => (
            <NumberField
              key={id}
              unit={policy.meter?.unit}
              label={`or ${id}`}
              placeholder={amount(limit, policy.meter?.unit)}
              value={limits[id] ?? ""}
              onInput={(text) => setLimits({ ...limits, [id]: text })}
            />
          ))}
          {plans.length > 0 && (
            <label>
              or plan
              <select value={plan} onChange={(event) => setPlan(event.currentTarget.value)}>
                <option value="">none</option>
                {plans.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
          )}
        </div>
      )}
      {lasts && (
        <div class="fields">
          <UntilField until={until} onChange={setUntil} />
          <TextField label="Why (a note, stored)" value={note} maxLength={500} onInput={setNote} />
        </div>
      )}
      {action === "block" && before && (
        <p class="note">The rest of its override stays, and ends together with the block.</p>
      )}
      {(action === "override" || action === "exempt") && before && (
        <p class="note">It replaces the override that it has.</p>
      )}
      {made ? (
        <ChangePanel change={made} verb={VERBS[action]} onDone={onDone} onCancel={onCancel} />
      ) : (
        <p class="muted">Give a factor, a number or a plan.</p>
      )}
    </Panel>
  );
}
