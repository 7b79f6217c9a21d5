// fast-check generators of live documents: right ones, and such as nobody should write.

import fc from "fast-check";
import { ANN, BOB, OWN_SECRET, POLICIES } from "./policies.ts";

const NAMES = [...POLICIES.map(({ name }) => name), "gone", "__proto__", "toString"];
const IDS = [...POLICIES.flatMap(({ limits }) => limits.map(({ id }) => id)), "api", "__proto__"];

/** Any JSON value, objects that cannot become a text included. */
const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown[]>(
    { toString: 1, valueOf: 1 },
    [],
    {},
    null,
    "",
    0,
    -1,
    Number.POSITIVE_INFINITY,
    "2",
    [2],
    true,
  ),
);

const number = fc.oneof(
  fc.integer({ min: 1, max: 2_000 }),
  fc.integer({ min: 1, max: 1_000_000_000 }),
  fc.constantFrom(10_000, 10_001, 3_362_902, 3_362_903),
);
const instant = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }).map((ms) => new Date(ms).toISOString());

/** @param rightly how often a value is of the right kind, of 20. */
function value<T>(right: fc.Arbitrary<T>, rightly: number): fc.Arbitrary<unknown> {
  return rightly >= 20
    ? right
    : fc.oneof({ weight: rightly, arbitrary: right }, { weight: 20 - rightly, arbitrary: junk });
}

/** Entries become own members, as `JSON.parse` makes them: `__proto__` too. */
function table(key: fc.Arbitrary<string>, member: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  const entries = fc.array(fc.tuple(key, member), { maxLength: 3 });
  return entries.map((all) => Object.fromEntries(all));
}

/** @param isLikelyRight most of these documents, or hardly any, may be written. */
export function documents(isLikelyRight: boolean): fc.Arbitrary<unknown> {
  const rightly = isLikelyRight ? 20 : 15;
  const of = <T>(right: fc.Arbitrary<T>) => value(right, rightly);
  const names = isLikelyRight ? fc.constantFrom(...POLICIES.map(({ name }) => name)) : fc.constantFrom(...NAMES);
  const limitsOf = (name: string) => {
    const own = POLICIES.find((policy) => policy.name === name)?.limits.map(({ id }) => id) ?? IDS;
    return of(table(fc.constantFrom(...(isLikelyRight ? own : [...own, ...IDS])), of(number)));
  };
  const policy = (name: string) =>
    fc.record({ mode: of(fc.constantFrom("enforce", "shadow")), limits: limitsOf(name) }, { requiredKeys: [] });
  const override = names.chain((name) =>
    fc.record(
      {
        policy: of(fc.constant(name)),
        kind: of(fc.constant("ip")),
        key: of(fc.constantFrom(ANN, BOB)),
        limits: limitsOf(name),
        factor: of(fc.oneof(fc.double({ min: 0.01, max: 100, noNaN: true }), fc.constantFrom(1e6, 1e7))),
        plan: of(fc.constantFrom("pro", "team")),
        exempt: of(fc.constant(true)),
        block: of(fc.constant(true)),
        until: of(instant),
        note: of(fc.string({ minLength: 1, maxLength: 20 })),
      },
      { requiredKeys: ["policy", "kind", "key"] },
    ),
  );
  const policies = fc
    .array(
      names.chain((name) => fc.tuple(fc.constant(name), of(policy(name)))),
      { maxLength: 3 },
    )
    .map((all) => Object.fromEntries(all));
  return of(
    fc.record(
      {
        secret: of(fc.constant(OWN_SECRET)),
        policies: of(policies),
        overrides: of(fc.array(of(override), { maxLength: 2 })),
      },
      { requiredKeys: ["policies", "overrides"] },
    ),
  );
}
