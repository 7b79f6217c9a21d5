/** What can be done about a client: each opens a form with the diff, the command, and for how long. */

import { useState } from "preact/hooks";
import { OVERRIDE_ENTRIES, OVERRIDE_FIELDS, withoutBlock } from "../../../src/features/live/fields.ts";
import type { Limit, OverrideFields, PolicyAnswer } from "../api.ts";
import type { LiveChange } from "../changes/change.ts";
import { ChangePanel } from "../changes/change-panel.tsx";
import { changeOverride, nameOf, resetCounts, type ShownClient, wordsOf } from "../changes/client-changes.ts";
import { live, policyNamed } from "../data/live.ts";
import { useValue } from "../data/value.ts";
import { FieldInput, type Typed, valueIn } from "../parts/fields.tsx";
import { amount } from "../parts/numbers.ts";
import { Panel } from "../parts/panel.tsx";

interface ClientActionsProps {
  readonly client: ShownClient;
  readonly before: OverrideFields | undefined;
  onChanged(): void;
}

/** Besides the names of flags: a flag has a button of its own. */
type Action = "reset" | "unblock" | "override" | "remove" | keyof OverrideFields;

/** A block is offered first: it stands beside every other field, and is lifted again. */
const FLAGS = OVERRIDE_ENTRIES.filter(([name, { is, isEffect }]) => is === "flag" && isEffect && name !== "block");

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
    ["block", OVERRIDE_FIELDS.block.label, !before?.block],
    ["unblock", "Lift the block", before?.block === true],
    ["override", "Other limits", true],
    ...FLAGS.map(([name, { label }]) => [name, label, !before?.[name]] as const),
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
      {state.is === "failed" && (
        <p class="note">The live document cannot be read. Clients can be blocked again as soon as it can.</p>
      )}
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
          onFailed={onChanged}
        />
      )}
    </div>
  );
}

interface ActionFormProps {
  readonly action: Action;
  readonly policy: PolicyAnswer;
  readonly client: ShownClient;
  readonly before: OverrideFields | undefined;
  onDone(): void;
  onCancel(): void;
  onFailed(): void;
}

/** A flag's verb is its label. */
const VERBS: Readonly<Partial<Record<Action, string>>> = {
  reset: "Reset",
  unblock: "Lift the block",
  override: "Set",
  remove: "Remove",
};

/** What gives a client other limits. The factor comes first: it is filled in. */
const OTHER_LIMITS = OVERRIDE_ENTRIES.filter(([, { is, isEffect }]) => isEffect && is !== "flag").toSorted(
  ([, a], [, b]) => Number(b.is === "factor") - Number(a.is === "factor"),
);
/** What stands beside any effect. */
const BESIDE = OVERRIDE_ENTRIES.filter(([, { isEffect }]) => !isEffect);

function ActionForm({ action, policy, client, before, onDone, onCancel, onFailed }: ActionFormProps) {
  const [typed, setTyped] = useState<Readonly<Partial<Record<string, Typed>>>>({ until: "1h", factor: "2" });
  /** Undefined: something was typed that cannot be sent. */
  const given = (entries: typeof OVERRIDE_ENTRIES): OverrideFields | undefined => {
    const values = entries.map(([name, field]) => [name, valueIn(field, typed[name], policy)] as const);
    if (values.some(([, value]) => value === null)) return undefined;
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  };
  const limits = given(OTHER_LIMITS);
  /** The factor is only what is offered as long as nothing else is typed. */
  const isFactor = limits !== undefined && Object.keys(limits).every((name) => name === "factor");

  function change(): LiveChange | undefined {
    const name = `${nameOf(client)} under ${policy.name}`;
    const set = (
      after: OverrideFields | undefined,
      title: string,
      isDangerous: boolean,
      command = wordsOf(after, before),
    ) => changeOverride(client, before, after, { title: `${title} ${name}`, isDangerous, command });
    const beside = given(BESIDE);
    switch (action) {
      case "reset":
        return client.raw && resetCounts({ ...client, raw: client.raw });
      case "block":
        return beside && set({ ...before, block: true, ...beside }, verb, true);
      case "unblock":
        return set(withoutBlock(before!), "Lift the block of", false, ["unblock", "…"]);
      case "remove":
        return set(undefined, "Remove the override of", false);
      case "override": {
        const { factor, ...others } = limits ?? {};
        const after = isFactor ? limits : others;
        if (!beside || !limits || Object.keys(after).length === 0) return undefined;
        return set({ ...after, ...beside }, "Other limits for", false);
      }
      default:
        return beside && set({ [action]: true, ...beside }, verb, true);
    }
  }

  const inputs = (entries: typeof OVERRIDE_ENTRIES) => (
    <div class="fields">
      {entries.map(([name, field]) => (
        <FieldInput
          key={name}
          field={field}
          policy={policy}
          typed={name === "factor" && !isFactor ? "" : typed[name]}
          disabled={!isFactor}
          empty="none"
          numberWords={({ id, limit }: Limit) => [`${field.label} ${id}`, amount(limit, policy.meter?.unit)]}
          onInput={(value) => setTyped({ ...typed, [name]: value })}
        />
      ))}
    </div>
  );
  const verb = VERBS[action] ?? OVERRIDE_FIELDS[action as keyof OverrideFields].label;
  const made = change();
  const isFlag = action === "block" || FLAGS.some(([name]) => name === action);
  return (
    <Panel label={`${verb}: ${nameOf(client)}`}>
      {action === "override" && inputs(OTHER_LIMITS)}
      {(isFlag || action === "override") && inputs(BESIDE)}
      {action === "block" && before && (
        <p class="note">The rest of its override stays, and ends together with the block.</p>
      )}
      {(action === "override" || (isFlag && action !== "block")) && before && (
        <p class="note">It replaces the override that it has.</p>
      )}
      {made ? (
        <ChangePanel change={made} verb={verb} {...{ onDone, onCancel, onFailed }} />
      ) : (
        <p class="muted">Give a factor, a number or a plan.</p>
      )}
    </Panel>
  );
}
