/** The clients of a log: by number while they are counted, and by name in the report. */

import { createHash, createHmac, randomBytes } from "node:crypto";
import type { Settings } from "../../../config/settings.ts";
import { type ClientKey, hashedBytes, partitionOf, partitionText } from "../../../partition/hash.ts";
import { KEY_SECRET_PURPOSE } from "../../../partition/hmac.ts";
import { DEPLOYED_TOKEN } from "../../wrangler/read-bindings.ts";

/** Clients that the report counts, about 150 bytes each. Decisions are exact for any number of clients. */
const MAX_COUNTED = 2_000_000;

export interface Client {
  /** Undefined: it came after so many others that the report does not count it. */
  readonly number: number | undefined;
  /** What stands for its key in the store. */
  readonly partition: string;
}

/** Gives each client a number. All policies and configurations of a replay share it. */
export class Clients {
  readonly #numbers = new Map<string, number>();
  /** Some clients have no number. */
  hasMore = false;

  of(key: ClientKey): Client {
    const text = partitionText(key);
    let number = this.#numbers.get(text);
    if (number === undefined && this.#numbers.size < MAX_COUNTED) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
    }
    this.hasMore ||= number === undefined;
    return { number, partition: number === undefined ? shortened(text) : String(number) };
  }

  /** The keys of the clients with these numbers. */
  keys(numbers: ReadonlySet<number>): ReadonlyMap<number, ClientKey> {
    const found = new Map<number, ClientKey>();
    if (numbers.size > 0) for (const [text, n] of this.#numbers) if (numbers.has(n)) found.set(n, keyIn(text));
    return found;
  }
}

/** Keys may be long, and the store keeps many. */
export function shortened(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** The key that `partitionText` has written. */
function keyIn(text: string): ClientKey {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf(":", at) + 1;
    at = start + Number(text.slice(at, start - 1));
    parts.push(text.slice(start, at));
  }
  const [kind = "", ...values] = parts;
  return { kind, values };
}

/** Some of the clients. */
export class ClientSet {
  size = 0;
  #bits = new Uint8Array(1_024);

  add(client: number | undefined): void {
    if (client === undefined || this.has(client)) return;
    const at = client >> 3;
    if (at >= this.#bits.length) {
      const grown = new Uint8Array(2 * at);
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[at]! |= 1 << (client & 7);
    this.size++;
  }

  has(client: number): boolean {
    return ((this.#bits[client >> 3] ?? 0) & (1 << (client & 7))) !== 0;
  }
}

/** A secret that everybody can know would let everybody find an address by trying all of them. */
const SECRET_OF_RUN = randomBytes(32).toString("hex");

/** The hash of a client's key, as the store and the admin API know it. */
export interface Hasher {
  hash(key: ClientKey): string;
  /** Whether the gateway's secret is known. Otherwise it is one of this run. */
  readonly isOwn: boolean;
}

export function hasherOf({ keySecret, redis }: Settings): Hasher {
  const token = redis?.nodes[0]?.token;
  const known = keySecret ?? token;
  const isOwn = known !== undefined && known !== DEPLOYED_TOKEN;
  const derived = createHmac("sha256", isOwn ? known : SECRET_OF_RUN).update(KEY_SECRET_PURPOSE);
  const secret = isOwn && keySecret !== undefined ? keySecret : derived.digest();
  const hash = (key: ClientKey) =>
    partitionOf(
      createHmac("sha256", secret)
        .update(hashedBytes(partitionText(key)))
        .digest(),
    );
  return { hash, isOwn };
}
