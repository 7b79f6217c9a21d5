/** Changes for all clients of a policy: its mode, and the numbers of its limits. */

import { patched } from "../../../src/features/live/fields.ts";
import { isTable } from "../../../src/kernel/config/bindings.ts";
import { api, type LivePolicy, type MeterUnit, type PolicyAnswer } from "../api.ts";
import { policyIn } from "../data/entries.ts";
import { readPolicies } from "../data/live.ts";
import { admin } from "../parts/command.tsx";
import { amount } from "../parts/numbers.ts";
import type { LiveChange } from "./change.ts";
import { edit as editOf, type Found } from "./edit.ts";

/** What changes: `null` for as deployed. Of numbers each changes by itself. */
export type PolicyEdit = {
  readonly [Name in keyof LivePolicy]: LivePolicy[Name] extends LiveNumbers | undefined
    ? Readonly<Record<string, number | null>>
    : LivePolicy[Name] | null;
};
export type LiveNumbers = Readonly<Record<string, number>>;

/** What takes an edit back. */
function backFrom(live: LivePolicy, edit: PolicyEdit): PolicyEdit {
  const fields = Object.entries(edit).map(([name, given]) => {
    const before = live[name as keyof LivePolicy] ?? null;
    if (!isTable(given)) return [name, before];
    return [
      name,
      Object.fromEntries(Object.keys(given).map((id) => [id, (before as LiveNumbers | null)?.[id] ?? null])),
    ];
  });
  return Object.fromEntries(fields);
}

/** @param traffic how many requests it touches, in words. */
export function changePolicy(policy: PolicyAnswer, edit: PolicyEdit, traffic: string): LiveChange {
  const before = policy.live ?? {};
  const after = patched(before, edit);
  const back = backFrom(before, edit);
  const shown = (one: object | null | undefined) => (one && Object.keys(one).length > 0 ? one : undefined);
  const way = (body: PolicyEdit) => ({
    command: commandOf(policy, body),
    async send(ifMatch: number): Promise<Found> {
      const made = await api.patchPolicy(policy.name, body, ifMatch);
      return { version: made.version, value: shown(policyIn(made.policy)) };
    },
  });
  return editOf({
    title: `Change ${policy.name}: ${wordsOf(edit, policy.meter?.unit)}`,
    touches: `Every client of ${policy.name}. ${traffic}`,
    isDangerous: true,
    ...{ before: shown(before), after: shown(after), what: "this policy" },
    async read() {
      const { version, policies } = await readPolicies();
      return { version, value: shown(policies.find(({ name }) => name === policy.name)?.live) };
    },
    there: way(edit),
    back: way(back),
  });
}

function wordsOf(edit: PolicyEdit, unit: MeterUnit | undefined): string {
  const words = Object.entries(edit).flatMap(([name, given]) => {
    if (!isTable(given)) return [`${name} ${given ?? "as deployed"}`];
    return Object.entries(given).map(
      ([id, number]) => `${id} ${number === null ? "as deployed" : amount(number as number, unit)}`,
    );
  });
  return words.join(", ");
}

function commandOf(policy: PolicyAnswer, edit: PolicyEdit): string {
  return policyWords(policy.name, edit)
    .map((words) => admin(...words))
    .join("\n");
}

/** The words after `headgate admin`: one command for each field. */
export function policyWords(policy: string, edit: PolicyEdit): readonly string[][] {
  return Object.entries(edit).map(([name, given]) => {
    if (!isTable(given)) return [name, policy, given ?? "default"];
    return [name, policy, ...Object.entries(given).map(([id, number]) => `${id}=${number ?? "default"}`)];
  });
}

/** What has led from one state of a policy to another. */
export function editBetween(was: LivePolicy, is: LivePolicy): PolicyEdit {
  const all = Object.keys({ ...was, ...is }) as (keyof LivePolicy)[];
  const edited = all.flatMap((name): [string, unknown][] => {
    const [old, young] = [was[name], is[name]];
    if (!isTable(old ?? young)) return old === young ? [] : [[name, young ?? null]];
    const [before, after] = [{ ...(old as LiveNumbers) }, { ...(young as LiveNumbers) }];
    const ids = Object.keys({ ...before, ...after }).filter((id) => before[id] !== after[id]);
    return ids.length > 0 ? [[name, Object.fromEntries(ids.map((id) => [id, after[id] ?? null]))]] : [];
  });
  return Object.fromEntries(edited);
}
