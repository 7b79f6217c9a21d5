/**
 * With `EXPLAIN = "on"` a refusal carries `Headgate-Explain`: the log line of this very refusal, and what was asked for
 * (docs/operate.md). It is encrypted (AES-256-GCM): whoever carries it can neither read nor change it. Only the gateway
 * has it: it is not a part of the library.
 *
 * A token is base64url of: version (1 byte), seconds since the epoch (4), nonce (12), ciphertext, tag (16).
 */

import { base64url } from "jose";
import { describeCalls } from "../features/rpc/calls.ts";
import { calls } from "../features/rpc/on-the-way.ts";
import type { OwnRules } from "../features/rules/rules.ts";
import type { Decision } from "../kernel/core/decision.ts";
import type { OnDecision } from "../kernel/limiter/on-decision.ts";
import { deriveBytes, importSecret } from "../kernel/request/hmac.ts";
import type { Explanation } from "./admin/answers.ts";
import { type DecisionLine, lineOf } from "./log.ts";

const FIELD = "Headgate-Explain";
/** How long a token can be read. */
const VALID_SECONDS = 600;
/** The longest token, in characters: a field of a header section that may hold 16 KiB in all. */
const MAX_TOKEN = 2_048;
/** Random nonces allow 2^32 tokens under one key (NIST SP 800-38D, section 8.3): 1.2 million a second for an hour. */
const KEY_SECONDS = 3_600;
const VERSION = 2;
const [HEAD_BYTES, NONCE_BYTES, TAG_BYTES] = [5, 12, 16];
/** The longest text that fits into a token, in bytes. */
const MAX_TEXT_BYTES = Math.floor((MAX_TOKEN * 3) / 4) - HEAD_BYTES - NONCE_BYTES - TAG_BYTES;
const [MAX_METHOD, MAX_PATH] = [20, 200];
/** More limits and policies than fit into a token. */
const MOST = 20;

export type Explain = ReturnType<typeof createExplain>;
export type ReadExplanation = Explain["read"];

interface ExplainOptions {
  readonly keySecret: string | undefined;
  /** Stands in for the key secret if there is none. Nobody else may know it. */
  readonly fallback: string;
  /** The version of the live document that is in force in this isolate. */
  readonly version: () => number | undefined;
}

export function createExplain({ keySecret, fallback, version }: ExplainOptions) {
  const refusals = new WeakMap<Decision, Omit<Explanation, "method" | "path">>();
  // Plain data, not a promise: one request must not await a promise of another.
  let latest: { readonly hour: number; readonly key: CryptoKey } | undefined;

  async function keyFor(seconds: number): Promise<CryptoKey> {
    const hour = Math.floor(seconds / KEY_SECONDS);
    if (latest?.hour === hour) return latest.key;
    const bytes = await deriveBytes(await importSecret(keySecret, fallback), `headgate explain ${hour}`);
    const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
    latest = { hour, key };
    return key;
  }

  async function seal(text: string, nowMs: number): Promise<string> {
    const seconds = Math.floor(nowMs / 1000);
    const bytes = encoder.encode(text);
    const token = new Uint8Array(HEAD_BYTES + NONCE_BYTES + bytes.length + TAG_BYTES);
    token[0] = VERSION;
    new DataView(token.buffer).setUint32(1, seconds);
    const [head, nonce, rest] = partsOf(token);
    crypto.getRandomValues(nonce);
    rest.set(new Uint8Array(await crypto.subtle.encrypt(gcm(head, nonce), await keyFor(seconds), bytes)));
    return base64url.encode(token);
  }

  /** Keeps the line of a refusal until its answer is made. */
  const onDecision: OnDecision = (decision, context) => {
    // Only a refusal has an answer of ours that can carry a token.
    if (decision.allowed) return;
    refusals.set(decision, { ...lineOf(decision, context), version: version() ?? null });
  };

  /** They add the token to the refusal of a request. */
  const rules: OwnRules<Request> = {
    onDecision(decision, _, passage) {
      const [line, called] = [refusals.get(decision), calls.of(passage)];
      if (line && called) refusals.set(decision, { ...line, calls: describeCalls(called) });
    },
    async response(decision, { method, url, headers }, standard) {
      const line = refusals.get(decision)!;
      const path = new URL(url).pathname.slice(0, MAX_PATH);
      const text = fitting({ ...line, method: method.slice(0, MAX_METHOD), path });
      standard.headers.set(FIELD, await seal(text, Date.parse(line.at)));
      // Pages of another origin may read it, as the fields of the limits.
      if (headers.has("Origin")) standard.headers.append("Access-Control-Expose-Headers", FIELD);
      return standard;
    },
  };

  /** `old`: it was made more than 10 minutes ago. `foreign`: it is not what a gateway with this secret has made. */
  async function read(text: string, nowMs = Date.now()): Promise<Explanation | { readonly wrong: "old" | "foreign" }> {
    if (text.length > MAX_TOKEN) return { wrong: "foreign" };
    try {
      const token = new Uint8Array(base64url.decode(text));
      if (token.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || token[0] !== VERSION) return { wrong: "foreign" };
      const seconds = new DataView(token.buffer).getUint32(1);
      // An isolate's clock may be ahead of this one.
      if (Math.abs(nowMs / 1000 - seconds) > VALID_SECONDS) return { wrong: "old" };
      const [head, nonce, rest] = partsOf(token);
      const bytes = await crypto.subtle.decrypt(gcm(head, nonce), await keyFor(seconds), rest);
      return JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      return { wrong: "foreign" };
    }
  }

  return { onDecision, rules, read };
}

const encoder = new TextEncoder();

/** The JSON of as many limits as fit, the most important first, and of their policies. */
function fitting(line: Explanation): string {
  for (let most = MOST; ; most--) {
    const limits = line.limits.slice(0, most);
    const isNamed = ({ policy }: DecisionLine["policies"][number]) => limits.some((limit) => limit.policy === policy);
    let spare = most - line.policies.filter(isNamed).length;
    const policies = line.policies.filter((one) => isNamed(one) || spare-- > 0);
    const omitted = {
      policies: line.policies.length - policies.length,
      limits: line.limits.length - limits.length,
    };
    const [violated, shadow] = [line.violated.slice(0, most), line.shadow.slice(0, most)];
    const isWhole = omitted.policies + omitted.limits === 0;
    const text = JSON.stringify({ ...line, policies, limits, violated, shadow, ...(!isWhole && { omitted }) });
    if (most === 0 || encoder.encode(text).length <= MAX_TEXT_BYTES) return text;
  }
}

function partsOf(token: Uint8Array<ArrayBuffer>) {
  const at = HEAD_BYTES + NONCE_BYTES;
  return [token.subarray(0, HEAD_BYTES), token.subarray(HEAD_BYTES, at), token.subarray(at)] as const;
}

/** The head is not encrypted, but cannot be changed either. */
function gcm(additionalData: Uint8Array<ArrayBuffer>, iv: Uint8Array<ArrayBuffer>) {
  return { name: "AES-GCM", iv, additionalData };
}
