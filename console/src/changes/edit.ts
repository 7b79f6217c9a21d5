/** A change of an entry of the live document, and the way back. Neither replaces what somebody else has written. */

import { Refused } from "../api.ts";
import type { LiveChange } from "./change.ts";

/** What the gateway has by now, and in which version of the document. */
export interface Found {
  readonly version: number;
  readonly value: unknown;
}

interface EditWay {
  readonly command: string;
  /** Sends it for this version of the document. @returns what the gateway has made of it. @throws {Refused} */
  send(version: number): Promise<Found>;
}

/** Reads the entry again before anything is sent: what an operator saw may be old. */
interface Edit extends Omit<LiveChange, "undo" | "command" | "send"> {
  /** What it changes: `this client`. */
  readonly what: string;
  read(): Promise<Found>;
  readonly there: EditWay;
  readonly back: EditWay;
}

export function edit({ what, read, there, back, ...shown }: Edit): LiveChange {
  const { title, before, after } = shown;
  /** What the gateway has made of it: of a duration an instant. */
  let made = after;
  async function send(way: EditWay, expected: unknown, otherwise: string): Promise<Found> {
    const { version, value } = await read();
    if (isEqual(value, expected)) return await way.send(version);
    throw new Refused(412, `Somebody else has changed ${what} since. ${otherwise}`);
  }
  return {
    ...shown,
    command: there.command,
    async send() {
      const { version, value } = await send(there, before, "Nothing was sent, and what holds now is shown here.");
      made = value;
      return version;
    },
    undo: {
      ...shown,
      ...{ title: `Undo: ${title}`, isDangerous: false, before: after, after: before, command: back.command },
      send: async () => (await send(back, made, "Nothing was undone.")).version,
    },
  };
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
