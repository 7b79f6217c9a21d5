/** Changes a policy's mode and numbers for all clients, with the diff before it is sent. */

import { useState } from "preact/hooks";
import type { Mode, Policy } from "../api.ts";
import { ChangePanel } from "../changes/change-panel.tsx";
import { changePolicy, isEmpty, type PolicyEdit } from "../changes/policy-changes.ts";
import { isNumberText, NumberField } from "../parts/fields.tsx";
import { amount } from "../parts/numbers.ts";
import { Panel } from "../parts/panel.tsx";

/** What the form holds: `default` is "as deployed". */
interface Form {
  readonly mode: Mode | "default";
  readonly limits: Readonly<Record<string, string>>;
}

function formOf({ mode, limits, live }: Policy): Form {
  return {
    mode: live?.mode ? mode : "default",
    limits: Object.fromEntries(
      limits.map(({ id, limit }) => [id, live?.limits?.[id] === undefined ? "" : String(limit)]),
    ),
  };
}

function editOf(policy: Policy, form: Form): PolicyEdit {
  const before = formOf(policy);
  const changed = Object.entries(form.limits).filter(([id, text]) => text !== before.limits[id]);
  const limits = Object.fromEntries(changed.map(([id, text]) => [id, text === "" ? null : Number(text)]));
  return {
    ...(form.mode !== before.mode && { mode: form.mode === "default" ? null : form.mode }),
    ...(changed.length > 0 && { limits }),
  };
}

export function EditPolicy({ policy, traffic }: { policy: Policy; traffic: string }) {
  const [form, setForm] = useState<Form>();
  if (!form) {
    return (
      <div class="buttons">
        <button type="button" onClick={() => setForm(formOf(policy))}>
          Change limits or mode
        </button>
      </div>
    );
  }
  const edit = editOf(policy, form);
  const isRight = Object.values(form.limits).every((text) => isNumberText(text, policy.meter?.unit));
  const close = () => setForm(undefined);
  const deployedMode = policy.live?.mode ? "as deployed" : `${policy.mode}, as deployed`;
  return (
    <div>
      <Panel label={`Change ${policy.name}`}>
        <h2>Change {policy.name} for all clients</h2>
        <div class="fields">
          <label>
            Mode
            <select
              value={form.mode}
              onChange={(event) => setForm({ ...form, mode: event.currentTarget.value as Form["mode"] })}
            >
              <option value="default">{deployedMode}</option>
              <option value="enforce">enforce</option>
              <option value="shadow">shadow: count, refuse nobody</option>
            </select>
          </label>
          {policy.limits.map(({ id: limit, limit: number, window }) => (
            <NumberField
              key={limit}
              unit={policy.meter?.unit}
              label={window === undefined ? limit : `${limit}, per ${window}`}
              placeholder={
                policy.live?.limits?.[limit] === undefined
                  ? `${amount(number, policy.meter?.unit)}, as deployed`
                  : "as deployed"
              }
              value={form.limits[limit] ?? ""}
              onInput={(text) => setForm({ ...form, limits: { ...form.limits, [limit]: text } })}
            />
          ))}
        </div>
        {isEmpty(edit) || !isRight ? (
          <p class="buttons">
            <span class="muted">
              {isRight ? "Nothing is changed yet." : "A field holds no such number."} An empty field means: as deployed.
            </span>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </p>
        ) : (
          <ChangePanel change={changePolicy(policy, edit, traffic)} verb="Change" onDone={close} onCancel={close} />
        )}
      </Panel>
    </div>
  );
}
