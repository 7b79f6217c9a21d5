// Uses limits up, and looks at what is left of them.

import { expect } from "vitest";
import { fieldsOf } from "../cases/fields.ts";
import type { Gateway } from "./gateway.ts";

/** Only a failing test waits this long. */
export const PATIENCE = { timeout: 30_000, interval: 20 };

/**
 * Sends bursts until `units` requests were admitted, and one burst more: no more than `units` may be admitted in all. A
 * single burst may admit fewer, because for a moment units of refused requests are charged in other places.
 *
 * @param burst sends requests at once. Every answer must be 200 or 429, and must come from counts of the store.
 */
export async function admitsExactly(units: number, burst: () => readonly Promise<Response>[]): Promise<void> {
  let admitted = 0;
  const send = async () => {
    const answers = await Promise.all(burst());
    for (const answer of answers) {
      await answer.arrayBuffer();
      expect([200, 429]).toContain(answer.status);
      expect(fieldsOf(answer).states).toBeDefined();
      if (answer.status === 200) admitted++;
    }
    return admitted;
  };
  await expect.poll(send, PATIENCE).toBeGreaterThanOrEqual(units);
  expect(await send()).toBe(units);
}

/** What is left of every limit, by its name. The request to `path` must cost nothing. */
export async function leftOf(gateway: Gateway, path: string, address?: string): Promise<Record<string, number>> {
  const answer = await gateway.fetch(path, address === undefined ? {} : { address });
  await answer.arrayBuffer();
  const { states = {} } = fieldsOf(answer);
  return Object.fromEntries(Object.entries(states).map(([name, { r }]) => [name, Number(r)]));
}
