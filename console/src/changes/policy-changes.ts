/** Changes for all clients of a policy: its mode, and the numbers of its limits. */

import { isTable } from "../../../src/config/bindings.ts";
import { isOfKind, POLICY_ENTRIES, POLICY_FIELDS } from "../../../src/limiter/live/fields.ts";
import { api, type LivePolicy, type Policy, Refused, type Unit } from "../api.ts";
import { admin } from "../parts/command.tsx";
import { amount } from "../parts/numbers.ts";
import type { Change } from "./change.ts";
import { canonical } from "./client-changes.ts";

/** What changes: `null` for as deployed. Of numbers each changes by itself. */
export type PolicyEdit = {
  readonly [Name in keyof LivePolicy]: LivePolicy[Name] extends Numbers | undefined
    ? Readonly<Record<string, number | null>>
    : LivePolicy[Name] | null;
};
export type Numbers = Readonly<Record<string, number>>;

/** What the live document will say of the policy. */
export function edited(live: LivePolicy | null, edit: PolicyEdit): LivePolicy {
  const fields = POLICY_ENTRIES.map(([name, { is }]): [string, unknown] => {
    const [before, given] = [live?.[name], edit[name]];
    if (is !== "numbers") return [name, given === undefined ? before : given];
    const numbers = Object.entries({ ...(before as Numbers), ...(given as Numbers) });
    return [name, Object.fromEntries(numbers.filter(([, number]) => number !== null))];
  });
  return Object.fromEntries(fields.filter(([name, value]) => isOfKind(POLICY_FIELDS[name as keyof LivePolicy], value)));
}

/** What takes an edit back. */
function backFrom(live: LivePolicy, edit: PolicyEdit): PolicyEdit {
  const fields = Object.entries(edit).map(([name, given]) => {
    const before = live[name as keyof LivePolicy] ?? null;
    if (!isTable(given)) return [name, before];
    return [name, Object.fromEntries(Object.keys(given).map((id) => [id, (before as Numbers | null)?.[id] ?? null]))];
  });
  return Object.fromEntries(fields);
}

/** @param traffic how many requests it touches, in words. */
export function changePolicy(policy: Policy, edit: PolicyEdit, traffic: string): Change {
  const before = policy.live ?? {};
  const after = edited(policy.live, edit);
  const back = backFrom(before, edit);
  const touches = `Every client of ${policy.name}. ${traffic}`;
  const send = async (body: PolicyEdit) => (await api.patchPolicy(policy.name, body)).version;
  const title = `Change ${policy.name}: ${wordsOf(edit, policy.meter?.unit)}`;
  const shown = (one: LivePolicy) => (Object.keys(one).length > 0 ? one : undefined);
  return {
    ...{ title, touches, isDangerous: true, before: shown(before), after: shown(after) },
    command: commandOf(policy, edit),
    send: () => send(edit),
    undo: {
      ...{ title: `Undo: ${title}`, touches, isDangerous: false, before: shown(after), after: shown(before) },
      command: commandOf(policy, back),
      async send() {
        const { policies } = (await api.live()).body;
        if (canonical(policies[policy.name] ?? {}) !== canonical(after)) {
          throw new Refused(409, "Somebody else has changed this policy since. Nothing was undone.");
        }
        return await send(back);
      },
    },
  };
}

function wordsOf(edit: PolicyEdit, unit: Unit | undefined): string {
  const words = Object.entries(edit).flatMap(([name, given]) => {
    if (!isTable(given)) return [`${name} ${given ?? "as deployed"}`];
    return Object.entries(given).map(
      ([id, number]) => `${id} ${number === null ? "as deployed" : amount(number as number, unit)}`,
    );
  });
  return words.join(", ");
}

/** One command for each field. */
function commandOf(policy: Policy, edit: PolicyEdit): string {
  const commands = Object.entries(edit).map(([name, given]) => {
    const words = isTable(given)
      ? Object.entries(given).map(([id, number]) => `${id}=${number ?? "default"}`)
      : [given ?? "default"];
    return admin(name, policy.name, ...words);
  });
  return commands.join("\n");
}
