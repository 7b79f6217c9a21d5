// Which link of a chain pays: every small case against the rule in words.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  asLinkAlone,
  asLinkOfChain,
  chainOf,
  isEnforced,
  type KeyVerdict,
  linkGroup,
  refusedGroups,
} from "../../src/core/chain.ts";
import { CHAIN_LINKS, ENFORCED, MAX_KEYS } from "../../src/core/layout.ts";

describe("the groups of links", () => {
  it("name their chain and their place in it, and are no group of a policy in shadow", () => {
    for (const chain of [0, 1, 7, MAX_KEYS]) {
      for (let link = 0; link < CHAIN_LINKS; link++) {
        const group = linkGroup(chain, link);
        expect(chainOf(group)).toBe(chain);
        expect(chainOf(asLinkAlone(group))).toBeUndefined();
        expect([group, asLinkAlone(group)].map(asLinkOfChain)).toEqual([group, group]);
        expect(asLinkAlone(group)).toBeGreaterThan(MAX_KEYS);
        expect([isEnforced(group), isEnforced(asLinkAlone(group))]).toEqual([true, true]);
        // The head of a key has room for groups below 2^16.
        expect(group).toBeLessThan(2 ** 16);
      }
    }
    expect([isEnforced(ENFORCED), isEnforced(1), isEnforced(MAX_KEYS)]).toEqual([true, false, false]);
    expect([ENFORCED, 1, MAX_KEYS].map(asLinkOfChain)).toEqual([ENFORCED, 1, MAX_KEYS]);
  });
});

/** One key of two chains of up to four links, of a policy in shadow, or of an enforced policy. */
const group = fc.oneof(
  fc.constantFrom(ENFORCED, 1, 2),
  fc.tuple(fc.nat(1), fc.nat(3)).map(([chain, link]) => linkGroup(chain, link)),
);
const verdicts = fc.array(fc.record({ group, refused: fc.boolean(), repeated: fc.boolean() }), { maxLength: 9 });

/** The rule in words: a link refuses if one of its keys does. */
function payerOf(chain: number, all: readonly KeyVerdict[]): number | undefined {
  const links = [0, 1, 2, 3].map((link) => all.filter((one) => one.group === linkGroup(chain, link)));
  const admits = links.map((keys) => keys.length > 0 && keys.every(({ refused }) => !refused));
  const repeats = links.findIndex((keys, link) => admits[link] && keys.some(({ repeated }) => repeated));
  const link = repeats >= 0 ? repeats : admits.indexOf(true);
  return link < 0 ? undefined : linkGroup(chain, link);
}

it("of each chain the first link that admits pays, a link with a repeat before the others", () => {
  fc.assert(
    fc.property(verdicts, (all) => {
      const refused = refusedGroups(all);
      let isRefused = all.some((one) => one.group === ENFORCED && one.refused);
      for (const chain of [0, 1]) {
        const payer = payerOf(chain, all);
        const own = all.filter((one) => chainOf(one.group) === chain);
        if (own.length > 0 && payer === undefined) isRefused = true;
        for (const one of own) expect(refused.has(one.group)).toBe(one.group !== payer);
      }
      expect(refused.has(ENFORCED)).toBe(isRefused);
      for (const shadow of [1, 2]) {
        expect(refused.has(shadow)).toBe(all.some((one) => one.group === shadow && one.refused));
      }
    }),
  );
});
