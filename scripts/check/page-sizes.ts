/** Compares the sizes that docs/performance.md and bench/results/size.json say with those of the bundles. */

import { readFileSync, writeFileSync } from "node:fs";
import { table, withTable } from "../build/results.ts";

const PAGE = new URL("../../docs/performance.md", import.meta.url);
const BENCH = new URL("../../bench/results/size.json", import.meta.url);

interface Size {
  readonly what: string;
  readonly bytes: number;
}

const kib = ({ bytes }: { readonly bytes: number }) => (bytes / 1024).toFixed(1);

/** So much may differ: compression depends on the zlib of the machine. */
const agree = (said: number, { bytes }: { readonly bytes: number }) =>
  Math.abs(said - bytes / 1024) <= Math.max(0.1, (0.01 * bytes) / 1024);

/** Writes the table of docs/performance.md. */
export function writeSizes(sizes: readonly Size[]): void {
  const rows = sizes.map((size) => [size.what, kib(size)]);
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, withTable(page, "sizes", "docs:sizes", table(["What you import", "KiB gzip"], rows)));
}

/** What pages say that is not so, in words. Empty if all is true. */
export function wrongSizes(sizes: readonly Size[], addedByGateway: number): string[] {
  const [, written = ""] = readFileSync(PAGE, "utf8").split(/<!-- (?:sizes: npm run docs:sizes|end of sizes) -->/);
  const rows = written.matchAll(/^\| (.+) \| ([\d.]+) \|$/gm);
  const said = new Map([...rows].map(([, what, size]) => [what!, Number(size)]));
  const wrong = sizes
    .filter((size) => !agree(said.get(size.what) ?? 0, size))
    .map((size) => `docs/performance.md: ${size.what}: expected ${kib(size)} KiB: npm run docs:sizes`);
  const { runs } = JSON.parse(readFileSync(BENCH, "utf8")) as { runs: { figures: Record<string, number> }[] };
  const added = runs[0]!.figures["added KiB headgate (the whole gateway)"]!;
  if (agree(added, { bytes: addedByGateway })) return wrong;
  const measured = kib({ bytes: addedByGateway });
  const found = `bench/results/size.json: the gateway adds ${measured} KiB, not ${added.toFixed(1)}: npm run bench -- size`;
  return [...wrong, found];
}
