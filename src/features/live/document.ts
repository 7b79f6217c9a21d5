/**
 * The live document: what operators change while the gateway runs. For each policy its mode and its limits' numbers,
 * and overrides for single clients. Structure (algorithms, windows, keys, matches) changes by deploying.
 */

import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import type { Entry, LivePolicy, OverrideFields } from "./fields.ts";

/** What a live document changes for one client under one policy. */
export interface LiveOverride extends OverrideFields {
  readonly policy: string;
  /** The kind of the client's key, for people. It is part of what was hashed. */
  readonly kind: string;
  /** The client's partition: the hash, never the raw key. */
  readonly key: string;
  /** The fingerprint of the key secret of this key. Absent: that of the document. */
  readonly secret?: string;
}

export interface LiveDocument {
  /** The deployment that has written it. Absent: one without a name, or by hand. */
  readonly owner?: string;
  /** A fingerprint of the key secret under which the overrides' keys are hashed, except those with their own. */
  readonly secret?: string;
  readonly policies: Readonly<Record<string, LivePolicy>>;
  readonly overrides: readonly LiveOverride[];
  /** The last changes: a list of `MadeChange`, the newest last, unchecked. Absent: versions before kept none. */
  readonly changes?: unknown;
}

/** A change that was made to the document. */
export interface MadeChange {
  readonly at: string;
  /** Who: `token`, `session`, or `access:` and an address or id. */
  readonly by: string;
  /** Of the document after it. */
  readonly version: number;
  readonly changed: readonly ChangedEntry[];
  /** How many entries it changed beside those. Absent: none. */
  readonly more?: number;
}

/** What the document said of a policy, or of a client of it, and what it has said since, without notes. */
export interface ChangedEntry {
  readonly policy: string;
  readonly kind?: string;
  readonly key?: string;
  /** Absent: nothing. */
  readonly was?: Entry;
  readonly is?: Entry;
}

export const EMPTY: LiveDocument = { policies: {}, overrides: [] };

/** The largest text of a document, in bytes. */
export const MAX_LIVE_BYTES = 262_144;

/**
 * Reads what a store keeps. A wrong entry is no error here: `viewOf` ignores it. Only a text that is not a document at
 * all is refused.
 *
 * @returns undefined if the text is not a document.
 */
export function readLive(text: string): LiveDocument | undefined {
  const value = parseJson(text);
  if (!isTable(value)) return undefined;
  const { owner, secret, policies, overrides, changes } = value;
  if (!isTable(policies) || !Array.isArray(overrides)) return undefined;
  return {
    ...(typeof owner === "string" && { owner }),
    ...(typeof secret === "string" && { secret }),
    policies: policies as LiveDocument["policies"],
    overrides: overrides as LiveDocument["overrides"],
    changes,
  };
}

/** The policy and the client of an override. Undefined: it names none. */
export function addressOf(override: unknown): string | undefined {
  if (!isTable(override) || !isText(override.policy) || !isText(override.key)) return undefined;
  return `${override.policy}:${override.key}`;
}

/** The overrides that name a client. Others were written into the store by hand, and do nothing. */
export function namedOverrides({ overrides }: LiveDocument): readonly LiveOverride[] {
  return overrides.filter((one) => addressOf(one) !== undefined);
}

const isText = (value: unknown) => typeof value === "string";
