/** The report as blocks of text and tables: the terminal shows them, and so does the page. */

import type { Summary } from "../engine/replay.ts";

export interface Table {
  readonly caption: string;
  readonly headings: readonly string[];
  /** Of texts, except where the heading is in `numbers`. */
  readonly rows: readonly (readonly string[])[];
  /** The columns that hold numbers. */
  readonly numbers: readonly number[];
}

/** A text is a paragraph. */
export type Block = { readonly heading: string } | Table | string;

/** The blocks that follow what was read. */
export function blocksOf({ configurations, comparisons, suggestions, notes }: Summary): Block[] {
  return [
    ...configurations.flatMap(configurationBlocks),
    ...comparisons.flatMap((one) => comparisonBlocks(one, configurations[0]!.name)),
    ...suggestions.flatMap(suggestionBlocks),
    ...notes.map((note) => `note: ${note}`),
  ];
}

/** What was read, in a line or two. */
export function logLines({ files, bytes: size, lines, requests, fromMs, toMs }: Summary["log"]): string[] {
  const read = `${plural(files, "file")}, ${bytes(size)}, ${plural(lines, "line")}, ${plural(requests, "request")}`;
  return requests === 0 ? [read] : [read, `${instant(fromMs)} to ${instant(toMs)} UTC`];
}

type Configured = Summary["configurations"][number];

function configurationBlocks({ name, requests: all, policies, skipped, paidBy }: Configured): Block[] {
  const blocks: Block[] = [{ heading: `${name}: ${ofRequests(all.refused, all.requests)} refused` }];
  if (policies.length > 0) {
    const rows = policies.map((one) => [
      one.mode === "shadow" ? `${one.policy} (shadow)` : one.policy,
      ...[count(one.requests), count(one.refused), percent(one.refused, one.requests)],
      ...[count(one.clients), count(one.refusedClients), percent(one.refusedClients, one.clients)],
      count(one.nearMisses),
    ]);
    const headings = ["policy", "requests", "refused", "share", "clients", "refused", "share", "near misses"];
    blocks.push({ caption: "Policies", headings, rows, numbers: [1, 2, 3, 4, 5, 6, 7] });
    const limits = policies.flatMap(({ limits }) => limits.map((one) => [one.id, one.words, count(one.refused)]));
    blocks.push({ caption: "Limits", headings: ["limit", "numbers", "refused"], rows: limits, numbers: [2] });
  }
  const paid = paidBy.map(({ policies, requests }) => [policies, count(requests)]);
  if (paid.length > 0)
    blocks.push({ caption: "Who paid", headings: ["paid by", "requests"], rows: paid, numbers: [1] });
  return [...blocks, ...skipped.map(({ policy, reason }) => `not replayed: ${policy}: ${reason}`)];
}

type Compared = Summary["comparisons"][number];

function comparisonBlocks({ name, requests, policies, added, removed }: Compared, present: string): Block[] {
  const rows = [{ policy: "all requests", ...requests }, ...policies].map(({ policy, newlyRefused, newlyAdmitted }) => [
    policy,
    ...[newlyRefused, newlyAdmitted].flatMap((one) => [count(one.requests), count(one.clients)]),
  ]);
  const headings = ["policy", "newly refused", "clients", "newly admitted", "clients"];
  const blocks: Block[] = [
    { heading: `${name} instead of ${present}` },
    { caption: "What changes", headings, rows, numbers: [1, 2, 3, 4] },
  ];
  if (added.length > 0) blocks.push(`only in ${name}: ${added.join(", ")}`);
  if (removed.length > 0) blocks.push(`only in ${present}: ${removed.join(", ")}`);
  return blocks;
}

function suggestionBlocks({
  policy,
  limit,
  requests,
  present,
  suggested,
  share,
  rungs,
}: Summary["suggestions"][number]): Block[] {
  const asked = `less than ${Number((share * 100).toPrecision(6))} %`;
  const now = `now ${limitNumber(present)}`;
  const what = `${policy}, limit ${limit}`;
  if (requests === 0) return [{ heading: `${what}: no requests (${now})` }];
  const found = suggested === undefined ? "no number that was tried" : limitNumber(suggested);
  const heading = `${what}: ${found} refuses ${asked} (${now})`;
  // The numbers that a reader compares: those around the present one and around the suggested one.
  const middles = [present, suggested ?? rungs.at(-1)!.limit].map((n) => rungs.findIndex((one) => one.limit === n));
  const shown = rungs.filter((_, i) => middles.some((middle) => Math.abs(middle - i) <= 2));
  const rows = shown.map((one) => {
    const marks = [...(one.limit === present ? ["now"] : []), ...(one.limit === suggested ? [asked] : [])];
    const cells = [count(one.refused), percent(one.refused, requests)];
    return [limitNumber(one.limit), ...cells, marks.length > 0 ? `← ${marks.join(", ")}` : ""];
  });
  const headings = ["number", "refused", "share", ""];
  return [{ heading }, { caption: "Other numbers", headings, rows, numbers: [0, 1, 2] }];
}

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 5 });

export function count(n: number): string {
  return WHOLE.format(n);
}

/** The number of a limit, as it is written in the configuration: dollars have decimals. */
function limitNumber(n: number): string {
  return NUMBER.format(n);
}

function plural(n: number, one: string): string {
  return `${count(n)} ${n === 1 ? one : `${one}s`}`;
}

export function ofRequests(part: number, whole: number): string {
  return `${count(part)} of ${plural(whole, "request")} (${percent(part, whole)})`;
}

/** Three digits, and never rounded to nothing or to everything: `12.3 %`, `1.23 %`, `0.012 %`. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  if (part <= 0) return "0 %";
  if (part >= whole) return "100 %";
  const value = (part / whole) * 100;
  if (value < 0.001) return "< 0.001 %";
  if (value > 99.9) return "> 99.9 %";
  const decimals = value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
  return `${value.toFixed(decimals)} %`;
}

/** `2026-11-21 10:00:00`, in UTC. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

function bytes(n: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const step = n < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(n) / 10));
  return `${step === 0 ? count(n) : (n / 1024 ** step).toFixed(1)} ${units[step]}`;
}
