/** Writes prices between two comments of wrangler.toml. The rest of the file stays byte for byte. */

import { parse } from "smol-toml";
import { isTable } from "../../kernel/config/bindings.ts";
import { Failure } from "../io.ts";
import type { Prices } from "./table.ts";

const BEGIN = "# headgate prices: begin";
const END = "# headgate prices: end";
const SHOWN = ["[vars.POLICIES.meter]", 'unit = "usd"', BEGIN, END];
const MARKERS = new RegExp(`^[ \\t]*${BEGIN}[ \\t]*(\\r?\\n)([\\s\\S]*?)^[ \\t]*${END}[ \\t]*\\r?$`, "gm");
const POLICY = /^[ \t]*\[\[[ \t]*((?:[\w-]+\.)*POLICIES(?:_\d+)?)[ \t]*\]\]/gm;

interface Written {
  readonly text: string;
  readonly before: Prices;
}

/**
 * @param name how messages name the file.
 * @returns the new text, and the prices that were in it: of several places, those of the first that has changed.
 * @throws {Failure}
 */
export function pricesInto(text: string, prices: Prices, name: string): Written {
  const places = [...text.matchAll(MARKERS)].length;
  if (places === 0 || text.split(BEGIN).length !== places + 1 || text.split(END).length !== places + 1) {
    throw new Failure(`${name} has no place for the prices. Write it, in each policy whose prices they are:`, ...SHOWN);
  }
  let written: Written = { text, before: prices };
  for (let place = places - 1; place >= 0; place--) {
    const next = pricesAt(written.text, place, prices, name);
    const isSame = JSON.stringify(next.before) === JSON.stringify(prices);
    written = isSame ? { ...next, before: written.before } : next;
  }
  return written;
}

/** @param place the index of the pair of comments. */
function pricesAt(text: string, place: number, prices: Prices, name: string): Written {
  const found = [...text.matchAll(MARKERS)][place]!;
  const [all, lineEnd = "\n", inside = ""] = found;
  const [begin, end] = [found.index + all.indexOf(lineEnd) + lineEnd.length, found.index + all.length];
  const above = [...text.slice(0, begin).matchAll(POLICY)].map(([, path]) => path!);
  const path = above.at(-1);
  if (path === undefined)
    throw new Failure(`${name}: expected a policy, [[vars.POLICIES]], above ${BEGIN}; found none`);
  const next = text
    .slice(end)
    .match(/^[ \t]*[^\s#].*$/m)?.[0]
    .trim();
  if (next !== undefined && !next.startsWith("[")) {
    throw new Failure(
      `${name}: expected a heading in brackets, or nothing, below ${END}; found a line that is neither`,
    );
  }
  const index = above.filter((one) => one === path).length - 1;
  const [own, rest] = [text.slice(0, begin), text.slice(begin + inside.length)];
  const changed = own + tables(path, prices).join(lineEnd) + lineEnd + rest;
  const written = meterIn(changed, path, index, name);
  if (written.unit !== "usd" || JSON.stringify(written.prices) !== JSON.stringify(prices)) {
    throw new Failure(`${name}: expected unit = "usd" in a table of its own above ${BEGIN}:`, ...SHOWN);
  }
  return { text: changed, before: (meterIn(text, path, index, name).prices ?? {}) as Prices };
}

function meterIn(text: string, path: string, index: number, name: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    const { message, line } = error as Error & { readonly line?: number };
    throw new Failure(
      `${name}: with the prices it would be no TOML: ${message.split("\n")[0]} (line ${line}). Write the meter as a table of its own:`,
      ...SHOWN,
    );
  }
  for (const step of path.split(".")) value = isTable(value) ? value[step] : undefined;
  const policy: unknown = Array.isArray(value) ? value[index] : undefined;
  return isTable(policy) && isTable(policy.meter) ? policy.meter : {};
}

function tables(path: string, prices: Prices): string[] {
  return Object.entries(prices).flatMap(([model, price]) => [
    `[${path}.meter.prices.${nameOf(model)}]`,
    ...Object.entries(price).map(([name, value]) => `${nameOf(name)} = ${tomlOf(value)}`),
  ]);
}

function tomlOf(value: unknown): string {
  if (!isTable(value)) return String(value);
  const members = Object.entries(value).map(([name, one]) => `${nameOf(name)} = ${tomlOf(one)}`);
  return `{ ${members.join(", ")} }`;
}

function nameOf(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}
