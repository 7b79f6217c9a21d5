/** What was changed in this session, to be undone. The live document has kept everybody's changes. */

import { now } from "../api.ts";
import { loadPolicies } from "../data/live.ts";
import { createValue } from "../data/value.ts";
import type { LiveChange } from "./change.ts";

export interface Done {
  readonly atMs: number;
  readonly change: LiveChange;
  readonly version: number | undefined;
  /** It was taken back. */
  readonly isUndone: boolean;
}

/** The newest first. In memory only: commands may hold raw keys. */
export const history = createValue<readonly Done[]>([]);

/** @param undone the change that this one takes back. @throws {Refused} */
export async function perform(change: LiveChange, undone?: Done): Promise<void> {
  try {
    const version = await change.send();
    const before = history.get().map((done) => (done === undone ? { ...done, isUndone: true } : done));
    history.set([{ atMs: now(), change, version, isUndone: false }, ...before]);
  } finally {
    // The page shows what holds by now, also if somebody else has changed it. If it cannot be read, the next look will
    // tell. Nobody waits: a form that was sent is closed before a newer document comes.
    void loadPolicies().catch(() => {});
  }
}

/** The last change of this session that can still be taken back. */
export function lastDone(all: readonly Done[]): Done | undefined {
  return all.find(({ change, isUndone }) => change.undo && !isUndone);
}
