/** The policies in force and the live document: read when a page needs them, after a change, and once a minute. */

import { api, type LiveAnswer, type PolicyAnswer, type Refused } from "../api.ts";
import { policyIn } from "./entries.ts";
import { createValue } from "./value.ts";

export interface Policies {
  /** The version of the live document; 0: there is none. */
  readonly version: number;
  readonly policies: readonly PolicyAnswer[];
}

type KnownLive =
  | { readonly is: "unknown" }
  | { readonly is: "on"; readonly document: LiveAnswer }
  /** `LIVE_REFRESH` is 0: nothing can be changed while the gateway runs. */
  | { readonly is: "off" }
  | { readonly is: "failed"; readonly why: string };

export const policies = createValue<Policies | undefined>(undefined);
export const live = createValue<KnownLive>({ is: "unknown" });

/** The policies as pages show them. */
export async function readPolicies(): Promise<Policies> {
  const found = await api.policies();
  return { ...found, policies: found.policies.map((one) => ({ ...one, live: one.live && policyIn(one.live) })) };
}

export async function loadPolicies(): Promise<void> {
  const found = await readPolicies();
  policies.set(found);
  const state = live.get();
  const isOld = state.is === "on" && state.document.version !== found.version;
  if (isOld || state.is === "failed") await loadLive();
}

export async function loadLive(): Promise<void> {
  try {
    live.set({ is: "on", document: await api.live() });
  } catch (error) {
    const { status, message } = error as Refused;
    live.set(status === 404 ? { is: "off" } : { is: "failed", why: message });
  }
}

export function policyNamed(name: string): PolicyAnswer | undefined {
  return policies.get()?.policies.find((policy) => policy.name === name);
}
