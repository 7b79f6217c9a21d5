// What Redis must hold. It changes by what core returns, and by damage.

import type { LimitSpec, Value } from "../../../src/kernel/core/algorithms.ts";
import type { Records } from "../../../src/kernel/core/records.ts";
import type { Log, LogEntry } from "../../../src/kernel/core/sliding-log.ts";
import { limitKeyOf, type Stored, type Written } from "../../../src/kernel/core/take.ts";
import { encodeEntry, encodeRecords, encodeRow, encodeValue, listOf, recordsIn } from "../redis/records-codec.ts";
import type { Damage, RecordsDamage, ValueDamage } from "./parity-damage.ts";

/** A Redis value, its bytes as text (latin1). The value of a `zset` is its scores by member. */
export type Content =
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "list"; readonly value: readonly string[] }
  | { readonly type: "zset"; readonly value: ReadonlyMap<string, number> };

/** A Redis command. Its first argument is the key. */
export type KeyCommand = readonly [name: string, key: string, ...args: string[]];

const LONG_MS = "86400000";

export class ParityStore {
  /** The value of each key. An absent key does not exist. */
  readonly contents = new Map<string, Content>();
  /** What core reads from these values. */
  readonly #records = new Map<string, Records>();
  readonly #values = new Map<string, Value>();
  /** The bytes of log elements that differ from what headgate would write. */
  readonly #foreign = new WeakMap<LogEntry, string>();

  readonly read: Stored = (key) => this.#records.get(key) ?? this.#values.get(key);

  write({ key, kind, value }: Written): void {
    if (kind === undefined) {
      this.#records.set(key, value as Records);
      this.contents.set(key, { type: "string", value: textOf(encodeRecords(value as Records)) });
    } else if (value) this.#setValue(key, value as Value);
    else this.#remove(key);
  }

  /** The commands that damage a key, or a limit key. Empty if nothing is there to damage. */
  damage(damage: Damage, key: string, limit: LimitSpec, nowMs: number): readonly KeyCommand[] {
    switch (damage.by) {
      case "value lost":
      case "value type":
      case "entry":
      case "slot":
        return this.#damageValue(damage, limitKeyOf(key, limit));
      case "once": {
        const { id, is } = damage;
        const name = `${key}!${id}`;
        this.#remove(name);
        if ("bytes" in is) this.contents.set(name, { type: "string", value: textOf(is.bytes) });
        else this.#setValue(name, { endsAtMs: nowMs + is.leftMs, used: is.used });
        return [["SET", name, this.contents.get(name)!.value as string, "PX", LONG_MS]];
      }
      case "lost":
        this.#remove(key);
        return [["DEL", key]];
      case "type":
        this.#remove(key);
        this.contents.set(key, { type: "list", value: ["x"] });
        return [
          ["DEL", key],
          ["RPUSH", key, "x"],
          ["PEXPIRE", key, LONG_MS],
        ];
      default: {
        const { survivors, bytes } = damagedRecords(this.#records.get(key), damage);
        this.#records.set(key, survivors);
        this.contents.set(key, { type: "string", value: textOf(bytes) });
        return [["SET", key, textOf(bytes), "PX", LONG_MS]];
      }
    }
  }

  #damageValue(damage: ValueDamage, key: string): readonly KeyCommand[] {
    const content = this.contents.get(key);
    if (damage.by === "value lost") {
      this.#remove(key);
      return [["DEL", key]];
    }
    if (damage.by === "value type") {
      this.#remove(key);
      this.contents.set(key, { type: "string", value: "x" });
      return [["SET", key, "x", "PX", LONG_MS]];
    }
    if (damage.by === "slot") {
      if (content?.type !== "zset") return [];
      const { member, score } = damage;
      // A member is a request's number only if headgate could have written the member.
      const slot = (/^\d+$/.test(member) ? Number(member) : member) as number;
      this.#setValue(key, new Map(this.#values.get(key) as ReadonlyMap<number, number>).set(slot, score));
      return [["ZADD", key, scoreText(score), member]];
    }
    if (content?.type !== "list") return [];
    const { place } = damage;
    const entry = { ...damage.entry };
    const text = textOf(damage.bytes);
    this.#foreign.set(entry, text);
    const log = this.#values.get(key) as Log;
    if (place === "first") {
      this.#setValue(key, [entry, ...log]);
      return [["LPUSH", key, text]];
    }
    if (place === "last") {
      this.#setValue(key, [...log, entry]);
      return [["RPUSH", key, text]];
    }
    this.#setValue(key, log.with(place % log.length, entry));
    return [["LSET", key, String(place % log.length), text]];
  }

  #setValue(key: string, value: Value): void {
    this.#values.set(key, value);
    this.contents.set(key, this.#contentOf(value));
  }

  #contentOf(value: Value): Content {
    if ("endsAtMs" in value) return { type: "string", value: textOf(encodeRow([value.endsAtMs, value.used])) };
    if (value instanceof Map) {
      return { type: "zset", value: new Map([...value].map(([slot, lostAtMs]) => [String(slot), lostAtMs])) };
    }
    const elements = (value as Log).map((entry) => this.#foreign.get(entry) ?? textOf(encodeEntry(entry)));
    return { type: "list", value: elements };
  }

  #remove(key: string): void {
    this.#records.delete(key);
    this.#values.delete(key);
    this.contents.delete(key);
  }
}

function scoreText(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return score > 0 ? "+inf" : "-inf";
}

/** The records that are still whole after the damage, and the bytes that Redis holds then. */
function damagedRecords(
  records: Records = [],
  damage: Exclude<RecordsDamage, { by: "lost" | "type" }>,
): { survivors: Records; bytes: Uint8Array } {
  if (damage.by === "bytes") return { survivors: [], bytes: damage.bytes };
  if (damage.by === "value") return { survivors: [], bytes: encodeValue(damage.value) };
  const lists: unknown[][] = records.map(listOf);
  const list = lists[damage.field % Math.max(1, lists.length)];
  if (!list) return { survivors: [], bytes: encodeValue([]) };
  const field = Math.floor(damage.field / lists.length);
  const at = damage.by === "count" ? 1 + (field % (list.length - 1)) : field % list.length;
  if (damage.by !== "length") list[at] = damage.value;
  else if (damage.more) list.push(1);
  else list.pop();
  return { survivors: recordsIn(lists.flat()), bytes: encodeRow(lists.flat()) };
}

/** A value as text, for the message of a failing case. */
export function describeContent(content: Content | undefined): string {
  if (!content) return "nothing";
  if (content.type === "string") return hexOf(content.value);
  if (content.type === "list") return content.value.map(hexOf).join(" ");
  const pairs = [...content.value].map(([member, score]) => `${member}:${score}`);
  return pairs.sort().join(" ");
}

export function hexOf(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("hex");
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}
