/** Changes for all clients of a policy: its mode, and the numbers of its limits. */

import { api, type LivePolicy, type Mode, type Policy, Refused, type Unit } from "../api.ts";
import { admin } from "../parts/command.tsx";
import { amount } from "../parts/numbers.ts";
import type { Change } from "./change.ts";
import { canonical } from "./client-changes.ts";

/** `null`: as deployed. Undefined: as it is. */
export interface PolicyEdit {
  readonly mode?: Mode | null;
  readonly limits?: Readonly<Record<string, number | null>>;
}

export function isEmpty({ mode, limits = {} }: PolicyEdit): boolean {
  return mode === undefined && Object.keys(limits).length === 0;
}

/** What the live document will say of the policy. */
export function edited(live: LivePolicy | null, { mode, limits = {} }: PolicyEdit): LivePolicy {
  const numbers: Record<string, number | null> = { ...live?.limits, ...limits };
  const kept = Object.entries(numbers).filter(([, number]) => number !== null);
  const inForce = mode === undefined ? live?.mode : (mode ?? undefined);
  return {
    ...(inForce && { mode: inForce }),
    ...(kept.length > 0 && { limits: Object.fromEntries(kept) as Record<string, number> }),
  };
}

/** @param traffic how many requests it touches, in words. */
export function changePolicy(policy: Policy, edit: PolicyEdit, traffic: string): Change {
  const before = policy.live ?? {};
  const after = edited(policy.live, edit);
  const back: PolicyEdit = {
    ...(edit.mode !== undefined && { mode: before.mode ?? null }),
    ...(edit.limits && {
      limits: Object.fromEntries(Object.keys(edit.limits).map((id) => [id, before.limits?.[id] ?? null])),
    }),
  };
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

function wordsOf({ mode, limits = {} }: PolicyEdit, unit: Unit | undefined): string {
  const numbers = Object.entries(limits).map(
    ([id, number]) => `${id} ${number === null ? "as deployed" : amount(number, unit)}`,
  );
  return [...(mode === undefined ? [] : [`mode ${mode ?? "as deployed"}`]), ...numbers].join(", ");
}

function commandOf({ name }: Policy, { mode, limits = {} }: PolicyEdit): string {
  const pairs = Object.entries(limits).map(([id, number]) => `${id}=${number ?? "default"}`);
  return [
    ...(mode === undefined ? [] : [admin("mode", name, mode ?? "default")]),
    ...(pairs.length === 0 ? [] : [admin("limits", name, ...pairs)]),
  ].join("\n");
}
