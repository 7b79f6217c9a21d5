/** Changes a policy's mode and numbers for all clients, with the diff before it is sent. */

import { useState } from "preact/hooks";
import { POLICY_ENTRIES } from "../../../src/features/live/fields.ts";
import type { Limit, PolicyAnswer } from "../api.ts";
import { ChangePanel } from "../changes/change-panel.tsx";
import { changePolicy, type LiveNumbers, type PolicyEdit } from "../changes/policy-changes.ts";
import { FieldInput, type Typed, valueIn } from "../parts/fields.tsx";
import { amount } from "../parts/numbers.ts";
import { Panel } from "../parts/panel.tsx";

/** What the form holds, by the names of fields. Empty is "as deployed". */
type TypedPolicy = Readonly<Record<string, Typed>>;

function formOf({ limits, live }: PolicyAnswer): TypedPolicy {
  const fields = POLICY_ENTRIES.map(([name, { is }]): [string, Typed] => {
    const value = live?.[name];
    if (is !== "numbers") return [name, String(value ?? "")];
    const changed = limits.filter(({ id }) => (value as LiveNumbers | undefined)?.[id] !== undefined);
    return [name, Object.fromEntries(changed.map(({ id, limit }) => [id, String(limit)]))];
  });
  return Object.fromEntries(fields);
}

/**
 * What was typed since the form was opened: it takes back nothing that somebody else has changed since. Undefined:
 * something was typed that cannot be sent.
 */
function editOf(policy: PolicyAnswer, before: TypedPolicy, form: TypedPolicy): PolicyEdit | undefined {
  const edit: Record<string, unknown> = {};
  for (const [name, field] of POLICY_ENTRIES) {
    const [old, young] = [before[name], form[name]];
    const value = valueIn(field, young, policy);
    if (value === null) return undefined;
    if (typeof old === "object" && typeof young === "object") {
      const changed = Object.keys(young).filter((id) => young[id] !== (old[id] ?? ""));
      const numbers = changed.map((id) => [id, (value as LiveNumbers | undefined)?.[id] ?? null]);
      if (numbers.length > 0) edit[name] = Object.fromEntries(numbers);
    } else if (old !== young) {
      edit[name] = value ?? null;
    }
  }
  return edit;
}

export function EditPolicy({ policy, traffic }: { policy: PolicyAnswer; traffic: string }) {
  const [forms, setForms] = useState<{ readonly opened: TypedPolicy; readonly form: TypedPolicy }>();
  if (!forms) {
    return (
      <div class="buttons">
        <button type="button" onClick={() => setForms({ opened: formOf(policy), form: formOf(policy) })}>
          Change limits or mode
        </button>
      </div>
    );
  }
  const { opened, form } = forms;
  const edit = editOf(policy, opened, form);
  const isChanged = edit && Object.keys(edit).length > 0;
  const close = () => setForms(undefined);
  const numberWords = ({ id, limit, per }: Limit) => {
    const isLive = policy.live?.limits?.[id] !== undefined;
    const inForce = isLive ? "as deployed" : `${amount(limit, policy.meter?.unit)}, as deployed`;
    return [`${id}, ${per}`, inForce] as const;
  };
  return (
    <div>
      <Panel label={`Change ${policy.name}`}>
        <h2>Change {policy.name} for all clients</h2>
        <div class="fields">
          {POLICY_ENTRIES.map(([name, field]) => (
            <FieldInput
              key={name}
              field={field}
              policy={policy}
              typed={form[name]}
              empty={policy.live?.[name] ? "as deployed" : `${policy[name]}, as deployed`}
              numberWords={numberWords}
              onInput={(typed) => setForms({ opened, form: { ...form, [name]: typed } })}
            />
          ))}
        </div>
        {isChanged ? (
          <ChangePanel change={changePolicy(policy, edit, traffic)} verb="Change" onDone={close} onCancel={close} />
        ) : (
          <p class="buttons">
            <span class="muted">
              {edit ? "Nothing is changed yet." : "A field holds no such number."} An empty field means: as deployed.
            </span>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </p>
        )}
      </Panel>
    </div>
  );
}
