/**
 * Rendezvous hashing: which place a key counts in. Every isolate and every process finds the same place from the names
 * alone. With n names, a name that is added takes over about 1/n of the keys, and a name that is removed gives its keys
 * to the others. No other key moves. The order of the names makes no difference to where a key counts.
 *
 * The place of a key is the name with the largest score; between equal scores, the name that sorts first.
 *
 *     tag    the text between the first "{" and the next "}": policy and partition; without them the whole key
 *     hash   FNV-1a over the UTF-16 code units, 32 bits, then the finalizer of MurmurHash3
 *     score  hash(name + "\n" + tag)
 *
 * The formula is part of the stored format: with another one, keys would begin at zero in another place.
 */

import { hashTagOf } from "../kernel/core/layout.ts";

/**
 * A function for `splitStore`: from a key to the position of its place in `names`. All keys of one policy and client
 * lie in one place, those of limits per region included.
 *
 * @param names of the places, in the order of the places. A name belongs to the counts of its place: a place that gets
 * another name begins at zero.
 *
 * @throws {TypeError} if `names` is empty, or holds a name twice.
 */
export function rendezvous(names: readonly string[]): (key: string) => number {
  if (names.length === 0) throw new TypeError("rendezvous: names must hold at least one name, found an empty list");
  if (new Set(names).size < names.length) throw new TypeError("rendezvous: the same name twice");
  // The hash goes through a text from left to right: that of the name is the same for every key.
  const places = names.map((name, at) => ({ name, at, begun: fnv1a(`${name}\n`, FNV_OFFSET) }));
  places.sort((a, b) => (a.name < b.name ? -1 : 1));

  return (key) => {
    const tag = hashTagOf(key);
    let [best, most] = [0, -1];
    for (const { at, begun } of places) {
      const score = mixed(fnv1a(tag, begun));
      if (score > most) [best, most] = [at, score];
    }
    return best;
  };
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

function fnv1a(text: string, begun: number): number {
  let hash = begun;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  return hash;
}

/** FNV-1a leaves the last characters in the low bits: the finalizer spreads them over all bits. 0 … 2^32 - 1. */
function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
