// What a logged error shows, and which secrets are in it.

import { inspect } from "node:util";

/** Message, stack, cause and every property, own or inherited: all that a logger could print. */
export function everythingOf(error: unknown): string {
  const own = Object.getOwnPropertyNames(error as object).map((name) => {
    return `${name}: ${inspect((error as Record<string, unknown>)[name], { depth: 10 })}`;
  });
  return [String(error), JSON.stringify(error), inspect(error, { depth: 10, showHidden: true }), ...own].join("\n");
}

/** The `secrets` that the error shows. */
export function leaksIn(error: unknown, secrets: readonly string[]): string[] {
  const shown = everythingOf(error);
  return secrets.filter((secret) => shown.includes(secret));
}
