/** The client that is being looked up. Raw keys stay in memory: no address, no storage. */

import type { PolicyAnswer, RawClient } from "../api.ts";
import { policies } from "./live.ts";
import { createValue } from "./value.ts";

export interface Lookup {
  readonly kind: string;
  readonly raw: readonly string[];
}

export const lookup = createValue<Lookup | undefined>(undefined);

/** The kinds of key that the policies count by, the first ones first. */
export function kindsOf(all: readonly PolicyAnswer[]): string[] {
  return [...new Set([...all.map(({ key }) => key[0]!), ...all.flatMap(({ key }) => key)])];
}

const IP = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+)$/i;

/** Whether a kind is the client's address, or a network of it: `ip/48`, `ip4/24`. */
export function isAddressKind(kind: string): boolean {
  return /^ip(?:4?\/\d+)?$/.test(kind);
}

/** What kind of key a text most likely is. */
export function kindOf(text: string, kinds: readonly string[]): string {
  const ofAddress = kinds.includes("ip") ? "ip" : kinds.find(isAddressKind);
  if (ofAddress !== undefined && IP.test(text.trim())) return ofAddress;
  return kinds.find((kind) => !isAddressKind(kind) && !kind.includes("+")) ?? kinds[0] ?? "ip";
}

/** Under each policy that counts by this kind. */
export function clientsOf({ kind, raw }: Lookup): RawClient[] {
  const all = policies.get()?.policies ?? [];
  return all.filter(({ key }) => key.includes(kind)).map(({ name }) => ({ policy: name, kind, raw }));
}
