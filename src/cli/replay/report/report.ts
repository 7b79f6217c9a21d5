/** The report as blocks of text and tables: the terminal shows them, and so does the page. */

import { line, table } from "../../printable.ts";
import type { Summary } from "../engine/replay.ts";

type Replayed = Summary["configurations"][0];

export interface Table {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The columns that hold numbers. */
  readonly numbers: readonly number[];
}

/** A text is a paragraph. */
export type Block = { readonly heading: string } | Table | string;

/** The report for a terminal. */
export function textReport(summary: Summary): string {
  const parts = blocksOf(summary).map((block) => {
    if (typeof block === "string") return line(block);
    if ("heading" in block) return `\n${line(block.heading)}`;
    // It makes its cells printable itself.
    return `\n${table(block.headings, block.rows, block.numbers)}`;
  });
  return parts.join("").replace(/\n(not replayed|note): /, "\n\n$1: ");
}

export function blocksOf({ log, configurations, suggestions, notes }: Summary): Block[] {
  const { files, bytes, lines, requests, fromMs, toMs } = log;
  const read = `${files} files, ${count(bytes)} bytes, ${count(lines)} lines, ${count(requests)} requests`;
  return [
    requests > 0 ? `${read}, from ${instant(fromMs)} to ${instant(toMs)} UTC` : read,
    ...configurations.flatMap(configurationBlocks),
    ...configurations.slice(1).flatMap((one) => comparisonBlocks(one, configurations[0]!.name)),
    ...suggestions.flatMap(suggestionBlocks),
    ...notes.map((note) => `note: ${note}`),
  ];
}

function configurationBlocks({ name, requests: all, policies, skipped, paidBy }: Replayed): Block[] {
  const share = percent(all.refused, all.requests);
  const ofPolicies = policies.map((one) => [
    one.mode === "shadow" ? `${one.policy} (shadow)` : one.policy,
    ...[count(one.requests), count(one.refused), percent(one.refused, one.requests)],
    ...[count(one.clients), count(one.refusedClients), percent(one.refusedClients, one.clients)],
  ]);
  const headings = ["policy", "requests", "refused", "share", "clients", "refused", "share"];
  const paid = paidBy.map((one) => [one.policies, count(one.requests)]);
  const tables: Table[] = [
    { caption: `Policies of ${name}`, headings, rows: ofPolicies, numbers: [1, 2, 3, 4, 5, 6] },
    { caption: `Who paid under ${name}`, headings: ["paid by", "requests"], rows: paid, numbers: [1] },
  ];
  return [
    { heading: `${name}: ${count(all.refused)} of ${count(all.requests)} requests refused (${share})` },
    ...tables.filter(({ rows }) => rows.length > 0),
    ...skipped.map(({ policy, reason }) => `not replayed: ${policy}: ${reason}`),
  ];
}

function comparisonBlocks({ name, requests, policies }: Replayed, present: string): Block[] {
  const rows = [{ policy: "all requests", ...requests }, ...policies].flatMap(({ policy, changes }) => {
    if (!changes) return [];
    const { newlyRefused: refused, newlyAdmitted: admitted } = changes;
    return [[policy, ...[refused.requests, refused.clients, admitted.requests, admitted.clients].map(count)]];
  });
  const headings = ["policy", "newly refused", "clients", "newly admitted", "clients"];
  return [
    { heading: `${name} instead of ${present}` },
    { caption: `What changes with ${name}`, headings, rows, numbers: [1, 2, 3, 4] },
  ];
}

function suggestionBlocks(suggestion: Summary["suggestions"][0]): Block[] {
  const { policy, limit, requests, present, suggested, share, rungs } = suggestion;
  const asked = `less than ${Number((share * 100).toPrecision(6))} %`;
  const found = suggested === undefined ? "no number that was tried" : `${suggested}`;
  const heading = `${policy}, limit ${limit}: ${requests > 0 ? found : "nothing"} refuses ${asked} (now ${present})`;
  // The numbers that a reader compares: those around the present one and around the suggested one.
  const middles = [present, suggested ?? rungs.at(-1)!.limit].map((n) => rungs.findIndex((one) => one.limit === n));
  const shown = rungs.filter((_, i) => middles.some((middle) => Math.abs(middle - i) <= 2));
  const rows = shown.map(({ limit, refused }) => {
    const marks = [...(limit === present ? ["← now"] : []), ...(limit === suggested ? [`← ${asked}`] : [])];
    return [`${limit}`, count(refused), percent(refused, requests), marks.join(" ")];
  });
  const headings = ["number", "refused", "share", ""];
  return [{ heading }, { caption: `Other numbers of ${limit}`, headings, rows, numbers: [0, 1, 2] }];
}

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(n: number): string {
  return WHOLE.format(n);
}

/** Three digits, and never rounded to everything: `12.3 %`, `1.23 %`, `0.00123 %`. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const value = Number(((part / whole) * 100).toPrecision(3));
  return value === 100 && part < whole ? "> 99.9 %" : `${value} %`;
}

/** `2026-11-21 10:00:00`, in UTC. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}
