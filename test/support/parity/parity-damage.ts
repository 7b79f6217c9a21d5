// What another program may write into headgate's keys, in words. parity-store.ts turns the words into commands.

import fc from "fast-check";
import { MAX_WINDOW_MS } from "../../../src/kernel/core/layout.ts";
import { encodeEntry, encodeRow, encodeValue } from "../redis/records-codec.ts";

export type Damage = RecordsDamage | ValueDamage | OnceDamage;

/** Damage to the key of the records. */
export type RecordsDamage =
  | { readonly by: "bytes"; readonly bytes: Uint8Array }
  | { readonly by: "value"; readonly value: unknown }
  /** One number of one record becomes a value that the record may not have. */
  | { readonly by: "field"; readonly field: number; readonly value: unknown }
  /** One record has one number too many or too few. */
  | { readonly by: "length"; readonly field: number; readonly more: boolean }
  /** One number of one record becomes another number. The record's id stays. */
  | { readonly by: "count"; readonly field: number; readonly value: number }
  | { readonly by: "lost" }
  | { readonly by: "type" };

/** Damage to a limit key. */
export type ValueDamage =
  | { readonly by: "value lost" }
  | { readonly by: "value type" }
  /** Another element in a log. `entry`: what core makes of the element. */
  | {
      readonly by: "entry";
      readonly place: "first" | "last" | number;
      readonly bytes: Buffer;
      readonly entry: { readonly atMs: number; readonly cost: number };
    }
  /** Another member among the slots of a concurrency limit. */
  | { readonly by: "slot"; readonly member: string; readonly score: number };

/** Damage to the key of an id: the key of the records, then `!` and the id. */
export type OnceDamage = {
  readonly by: "once";
  readonly id: string;
  /** Bytes that mean nothing, or an id that ends so many ms after the step. */
  readonly is: { readonly bytes: Uint8Array } | { readonly leftMs: number; readonly used: number };
};

/** Values that are not a whole number from 0 to 2^53 - 1. */
const noCount = fc.oneof(
  // Arithmetic alone would not notice these values.
  fc.constantFrom<unknown>(-1, 0.5),
  fc.constantFrom<unknown>("1", "", Number.NaN, 2 ** 53, 1e300, null, true, [], [1], { a: 1 }),
);

const by = <B extends string, T>(by: B, fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record({ by: fc.constant(by), ...fields }) as fc.Arbitrary<{ by: B } & Required<T>>;
const field = fc.nat({ max: 500 });

const recordsDamage: fc.Arbitrary<RecordsDamage> = fc.oneof(
  by("bytes", { bytes: fc.uint8Array({ maxLength: 40 }) }),
  by("value", {
    value: fc.oneof(
      noCount,
      fc.constantFrom<unknown>(7, [], [[]], [1, 2, 3, 4, 5, 6], ["x"], [[1]], [{}], { 1: [1, 2] }, [[[]]], [null, 5]),
    ),
  }),
  { weight: 3, arbitrary: by("field", { field, value: noCount }) },
  by("length", { field, more: fc.boolean() }),
  {
    weight: 3,
    arbitrary: by("count", { field, value: fc.constantFrom(0, 1, 2, 3, 7, 40, 2 ** 31, 2 ** 40, 2 ** 53 - 1) }),
  },
  fc.constant({ by: "lost" as const }),
  fc.constant({ by: "type" as const }),
);

const broken = [
  Buffer.alloc(0),
  Buffer.from("c1", "hex"), // a byte that msgpack never uses
  Buffer.from("cf000001", "hex"), // the beginning of an integer
  encodeValue("x"),
  encodeValue([5, 5]),
  encodeValue(5), // an instant without a cost
  ...[
    [-1, 1],
    [5, -1],
    [0.5, 1],
    [5, 0.5],
    [null, 5],
    [5, "5"],
    [2 ** 53, 5],
  ].map((pair) => Buffer.concat(pair.map(encodeValue))),
];

const entry = fc.oneof(
  fc.constantFrom(...broken).map((bytes) => ({ bytes, entry: { atMs: 0, cost: 0 } })),
  fc
    .record({ atMs: fc.constantFrom(0, 5, 1_000_000, 2 ** 53 - 1), cost: fc.constantFrom(0, 1, 7, 2 ** 40) })
    .map((entry) => ({ bytes: encodeEntry(entry), entry })),
);

const valueDamage: fc.Arbitrary<ValueDamage> = fc.oneof(
  fc.constant({ by: "value lost" as const }),
  fc.constant({ by: "value type" as const }),
  fc
    .tuple(entry, fc.constantFrom<("first" | "last" | number)[]>("first", "last", 0, 1, 2, 3))
    .map(([entry, place]) => ({ by: "entry" as const, place, ...entry })),
  by("slot", {
    member: fc.constantFrom("", "x", "1", "6", "-1", "1.5"),
    score: fc.constantFrom(Number.NEGATIVE_INFINITY, 0, 5.5, 1_000_000, 1_750_000_000_000, Number.POSITIVE_INFINITY),
  }),
);

/** Ends of ids, in both kinds of instants that cases have. */
const end = fc.constantFrom(0, 5, 1_000_000, 1_750_000_000_000, 2 ** 53 - 1);

const onceDamageOf = fc.oneof(
  fc.uint8Array({ maxLength: 1 }).map((bytes) => ({ bytes })),
  fc.tuple(noCount, fc.constantFrom(0, 1)).map(([end, used]) => ({ bytes: encodeRow([end, used]) })),
  fc.tuple(end, noCount).map(([end, used]) => ({ bytes: encodeRow([end, used]) })),
  end.map((end) => ({ bytes: encodeRow([end, 1, 1]) })),
  end.map((end) => ({ bytes: encodeRow([end]) })),
  {
    weight: 5,
    arbitrary: fc.record({
      leftMs: fc.constantFrom(0, 1, 2, 1_000, MAX_WINDOW_MS, MAX_WINDOW_MS + 1),
      used: fc.constantFrom(0, 1, 2, 9, 10, 2 ** 40),
    }),
  },
);

export const onceDamage: fc.Arbitrary<OnceDamage> = fc.record({
  ...{ by: fc.constant("once" as const), id: fc.constantFrom("a", "b", "c"), is: onceDamageOf },
});

export const damage: fc.Arbitrary<Damage> = fc.oneof<fc.Arbitrary<Damage>[]>(recordsDamage, valueDamage);
