/** Chains of policies: which policy pays when another one refuses. Checked together, and put into `Policy.chain`. */

import { NAME_FORM } from "../../kernel/config/fields/basics.ts";
import type { AllFields, ClientWords, FeatureFields, Fields } from "../../kernel/config/fields/field.ts";
import { canGiveBack } from "../../kernel/config/fields/limits.ts";
import { type Mistake, mistakeAbout, type Parsed } from "../../kernel/config/mistake.ts";
import type { PolicyInput } from "../../kernel/config/policy-input.ts";
import { MAX_CHAIN } from "../../kernel/core/layout.ts";
import type { Policy } from "../../kernel/core/policy.ts";

export const overflowFields = {
  fields: {
    overflow: {
      is: "text",
      form: NAME_FORM,
      expected: 'the name of a policy: write overflow = "team"',
      isOptional: true,
    },
  },
  together: withChains,
} as const satisfies FeatureFields;

export const overflowWords = {
  tell({ overflow }, documented) {
    const payer = documented.find(({ name }) => name === overflow);
    return payer && { overflow: { policy: payer.name, meaning: `then ${payer.name} pays` } };
  },
  say: ({ overflow }) => ({ next: overflow?.meaning }),
} as const satisfies ClientWords;

/** Gives each policy with an overflow its chain. */
function withChains(policies: readonly Policy[], { pathOf, fields, write }: AllFields): Parsed<readonly Policy[]> {
  if (!policies.some(({ overflow }) => overflow)) return { value: policies };
  const byName = new Map(policies.map((policy) => [policy.name, policy]));
  const overflows = new Set(policies.map(({ overflow }) => overflow));
  const mistakes = policies.flatMap((policy, i) => {
    const path = pathOf(i);
    return [
      ...(policy.overflow ? overflowMistakes(policy, byName, overflows, path) : []),
      ...(overflows.has(policy.name) ? ownOfHead(write(policy), path, fields) : []),
    ];
  });
  if (mistakes.length > 0) return { mistakes };
  return {
    value: policies.map((policy) => {
      const isOverflow = overflows.has(policy.name) && ({ isOverflow: true } as const);
      const chain = policy.overflow && { chain: chainOf(policy, byName).map((link) => linkOf(policy, link)) };
      return isOverflow || chain ? { ...policy, ...isOverflow, ...chain } : policy;
    }),
  };
}

type ByName = ReadonlyMap<string, Policy>;

/** The policies after `policy` in its chain. It ends before a policy that does not exist, and before a circle. */
function chainOf(policy: Policy, byName: ByName): Policy[] {
  const chain = new Set([policy]);
  for (let next = nextOf(policy, byName); next && !chain.has(next); next = nextOf(next, byName)) chain.add(next);
  return [...chain].slice(1);
}

function nextOf({ overflow }: Policy, byName: ByName): Policy | undefined {
  return overflow === undefined ? undefined : byName.get(overflow);
}

/** An overflow as it is asked after `head`: with what it takes over from it. */
function linkOf({ onStoreFailure, count, refusal }: Policy, overflow: Policy): Policy {
  return { ...overflow, isOverflow: true, onStoreFailure, ...(count && { count }), ...(refusal && { refusal }) };
}

/** What is wrong with a policy that has an overflow, and with its chain. */
function overflowMistakes(
  policy: Policy,
  byName: ByName,
  overflows: ReadonlySet<string | undefined>,
  path: string,
): Mistake[] {
  const name = policy.overflow!;
  const mistakes: Mistake[] = [];
  const wrong = (field: string, expected: string, found: unknown) => {
    mistakes.push(mistakeAbout("ERR_POLICY_OVERFLOW", `${path}.${field}`, expected, found));
  };
  const next = byName.get(name);
  if (!next || next === policy) {
    const others = [...byName.keys()].filter((other) => other !== policy.name);
    wrong("overflow", `the name of another policy, of ${others.join(", ")}`, name);
    return mistakes;
  }
  const chain = chainOf(policy, byName);
  const end = nextOf(chain.at(-1)!, byName);
  const names = [policy, ...chain, ...(end ? [end] : [])].map((one) => one.name).join(" → ");
  // The first policy of a circle reports it.
  const first = [...byName.values()].find((one) => one === policy || chain.includes(one));
  if (end === policy && first === policy) wrong("overflow", "a chain that ends: none of its policies twice", names);
  const [unit, nextUnit] = [policy.meter?.unit, next.meter?.unit];
  const isMatched = !overflows.has(policy.name);
  // The policy that requests match reports a long chain.
  if (!end && chain.length >= MAX_CHAIN && isMatched) {
    wrong("overflow", `a chain of at most ${MAX_CHAIN} policies`, names);
  }
  if (unit !== nextUnit) {
    const expected = unit ? `a policy with meter.unit = "${unit}", as here` : "a policy without a meter, as here";
    wrong("overflow", expected, `${name} with ${nextUnit ? `meter.unit = "${nextUnit}"` : "no meter"}`);
  }
  // What an overflow must not be, `ownOfHead` says.
  if (isMatched && policy.mode !== "enforce") wrong("mode", '"enforce" beside overflow', policy.mode);
  if (isMatched && policy.once) {
    wrong("once", "no once beside overflow: a repeat would not find who has paid for it", "once");
  }
  const { count, onStoreFailure } = policy;
  for (const { name, limits, consistency } of chain) {
    const unfit = limits.find(({ algorithm }) => !canGiveBack(algorithm));
    if (count && unfit) wrong("count", `no count: the overflow ${name} has a limit with ${unfit.algorithm}`, "count");
    if (count && consistency !== "strict") {
      wrong("count", `no count: the overflow ${name} has consistency = "${consistency}"`, "count");
    }
    if (consistency === "shared" && onStoreFailure !== "local") {
      wrong("onStoreFailure", `"local", because the overflow ${name} has consistency = "shared"`, onStoreFailure);
    }
  }
  return mistakes;
}

/** What an overflow has by itself, although it is asked with that of the policy before it. */
function ownOfHead(policy: PolicyInput, path: string, fields: Fields): Mistake[] {
  return Object.entries(fields).flatMap(([name, field]): Mistake[] => {
    const found = policy[name as keyof PolicyInput];
    const isOwn = found !== undefined && JSON.stringify(found) !== JSON.stringify(field.default);
    if (!field.isOfHead || !isOwn) return [];
    const expected = `no ${name} here: this policy is an overflow, and that of the policy before it holds`;
    return [mistakeAbout("ERR_POLICY_OVERFLOW", `${path}.${name}`, expected, found)];
  });
}
