/** The way back from a change. */

import { Refused } from "../api.ts";
import type { Change } from "./change.ts";

/**
 * Adds the change that takes a change back. It must not take back what somebody else has done since.
 *
 * @param back what differs from undoing it as it was made. @param what it changes: `this client`.
 * @param isAsLeft whether what it has changed is still so.
 */
export function undoable(
  change: Change,
  back: Pick<Change, "command" | "send">,
  what: string,
  isAsLeft: () => Promise<boolean>,
): Change {
  const { title, before, after } = change;
  const undo: Change = {
    ...change,
    ...{ title: `Undo: ${title}`, isDangerous: false, before: after, after: before },
    command: back.command,
    async send() {
      if (await isAsLeft()) return await back.send();
      throw new Refused(409, `Somebody else has changed ${what} since. Nothing was undone.`);
    },
  };
  return { ...change, undo };
}

export function isEqual(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** The order of fields means nothing. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
