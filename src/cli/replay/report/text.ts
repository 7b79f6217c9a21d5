/** The report for a terminal: readable at a glance. The HTML and the JSON have the rest. */

import { printable } from "../../printable.ts";
import { table } from "../../table.ts";
import type {
  Candidate,
  ChainSummary,
  Changed,
  Comparison,
  ConfigurationSummary,
  LogSummary,
  PolicyCosts,
  PolicySummary,
  Suggestion,
  Summary,
} from "../engine/summary.ts";
import type { LogFacts } from "../log/facts.ts";
import { CHAIN_HEADINGS, chainRows, PAYER_HEADINGS, payerRows, unitsOf } from "./chains.ts";
import { COSTS_HEADINGS, costsRows } from "./costs.ts";
import { bytes, count, instant, limitNumber, percent, plural, share } from "./numbers.ts";

/** A path is cut there, so that its row fits a terminal. */
const MAX_REQUEST = 40;
const COLUMNS = 100;

export function textReport(summary: Summary): string {
  const { log, configurations, comparison, suggestions = [], notes } = summary;
  const parts = [
    logText(log),
    ...configurations.map(configurationText),
    ...(comparison ? [comparisonText(comparison, configurations)] : []),
    ...suggestions.map(candidatesText),
    notes.map((note) => wrapped(`note: ${printable(note)}`)).join(""),
  ];
  // Tables make their cells printable themselves.
  return parts.filter((part) => part !== "").join("\n");
}

function logText({ files, bytes: size, lines, requests, fromMs, toMs }: LogSummary): string {
  const what = `${plural(files, "file")}, ${bytes(size)}, ${plural(lines, "line")}, ${plural(requests, "request")}\n`;
  return requests === 0 ? what : `${what}${instant(fromMs)} to ${instant(toMs)} UTC\n`;
}

function configurationText(configuration: ConfigurationSummary): string {
  const { name, requests, policies, chains = [], skipped, costs = [] } = configuration;
  const { requests: all, refused } = requests;
  const head = `${printable(name)}: ${count(refused)} of ${plural(all, "request")} refused (${percent(refused, all)})\n`;
  return [
    head,
    policies.length === 0 ? "" : `\n${policiesTable(policies)}\n${limitsTable(policies)}`,
    chains.length === 0 ? "" : `\n${table(CHAIN_HEADINGS, chainRows(chains), [2, 3, 4])}`,
    mostRefusedText(policies),
    mostPaidText(chains),
    costs.length === 0 ? "" : `\n${costsTable(costs)}`,
    skipped.length === 0 ? "" : "\n",
    ...skipped.map(({ policy, reason }) => wrapped(printable(`not replayed: ${policy}: ${reason}`))),
  ].join("");
}

function policiesTable(policies: readonly PolicySummary[]): string {
  const headings = ["policy", "requests", "refused", "share", "clients", "refused", "share", "near misses"];
  const rows = policies.map((one) => [
    one.policy + (one.mode === "shadow" ? " (shadow)" : one.isOverflow ? " (overflow)" : ""),
    ...[count(one.requests), count(one.refused), percent(one.refused, one.requests)],
    ...[count(one.clients), count(one.refusedClients), percent(one.refusedClients, one.clients)],
    count(one.nearMisses),
  ]);
  return table(headings, rows, [1, 2, 3, 4, 5, 6, 7]);
}

function costsTable(costs: readonly PolicyCosts[]): string {
  return table(["what calls cost", ...COSTS_HEADINGS], costsRows(costs), [2, 3, 4, 5, 6]);
}

/** Clients by the largest share of the limit that they have used. */
function limitsTable(policies: readonly PolicySummary[]): string {
  const sum = (peaks: readonly number[]) => count(peaks.reduce((all, one) => all + one, 0));
  const rows = policies.flatMap(({ limits }) =>
    limits.map(({ id, words, refused, peaks }) => {
      return [id, words, count(refused), sum(peaks.slice(0, 5)), sum(peaks.slice(5, 8)), sum(peaks.slice(8, 10))];
    }),
  );
  const headings = ["limit", "", "refused", "clients ≤ 50 %", "≤ 80 %", "≤ 100 %"];
  return table(headings, rows, [2, 3, 4, 5]);
}

/** Hashes say nothing to a reader of the terminal: clients are listed with `--show-keys`. */
function mostRefusedText(policies: readonly PolicySummary[]): string {
  const rows = policies.flatMap(({ policy, topRefused }) =>
    topRefused.flatMap(({ kind, key, client, requests, refused }) =>
      key === undefined ? [] : [[policy, `${kind} ${key}`, client, count(requests), count(refused)]],
    ),
  );
  return rows.length === 0
    ? ""
    : `\n${table(["refused most often", "client", "hash", "requests", "refused"], rows, [3, 4])}`;
}

/** As above: the clients of overflows. */
function mostPaidText(chains: readonly ChainSummary[]): string {
  const rows = chains.flatMap(({ policy, unit, payers }) =>
    payers.flatMap(({ policy: payer, top }) =>
      top.flatMap(({ kind, key, client, requests, units }) =>
        key === undefined ? [] : [[policy, payer, `${kind} ${key}`, client, count(requests), unitsOf(units, unit)]],
      ),
    ),
  );
  if (rows.length === 0) return "";
  return `\n${table(["chain", "paid most", "client", "hash", "requests", "units"], rows, [4, 5])}`;
}

function comparisonText(comparison: Comparison, configurations: readonly ConfigurationSummary[]): string {
  const [present, candidate] = configurations.map(({ name }) => printable(name));
  const { requests, policies, payers = [], added, removed } = comparison;
  const cells = ({ newlyRefused, newlyAdmitted }: Changed) =>
    [newlyRefused, newlyAdmitted].flatMap((one) => [count(one.requests), count(one.clients)]);
  const rows = [
    ["all requests", ...cells(requests)],
    ...policies.map((changed) => [changed.policy, ...cells(changed)]),
  ];
  return [
    `${candidate} instead of ${present}\n\n`,
    table(["policy", "newly refused", "clients", "newly admitted", "clients"], rows, [1, 2, 3, 4]),
    payers.length === 0 ? "" : `\n${table(PAYER_HEADINGS, payerRows(payers), [3, 4])}`,
    added.length > 0 ? `\nonly in ${candidate}: ${printable(added.join(", "))}\n` : "",
    removed.length > 0 ? `\nonly in ${present}: ${printable(removed.join(", "))}\n` : "",
    examplesText("newly refused", requests.newlyRefused),
    examplesText("newly admitted", requests.newlyAdmitted),
  ].join("");
}

function examplesText(what: string, { examples }: Changed["newlyRefused"]): string {
  if (examples.length === 0) return "";
  const rows = examples.map(({ atMs, kind, key, client, policy, request, requests }) => {
    const short = request.length > MAX_REQUEST ? `${request.slice(0, MAX_REQUEST - 1)}…` : request;
    return [instant(atMs), `${kind} ${key ?? client}`, policy, count(requests), short];
  });
  return `\n${table([`${what} first`, "client", "policy", "requests", "for example"], rows, [3])}`;
}

function candidatesText(suggestion: Suggestion): string {
  const text = `${printable(suggestionText(suggestion))}\n`;
  if (suggestion.rungs.length === 0) return text;
  const rows = shownCandidates(suggestion).map((shown) => {
    if (shown === "gap") return ["…", "", "", "", ""];
    const { limit, requests, refused, refusedClients } = shown;
    const marks = [
      ...(limit === suggestion.present ? ["now"] : []),
      ...(limit === suggestion.suggested ? [`less than ${share(suggestion.share)}`] : []),
    ];
    return [
      limitNumber(limit),
      count(refused),
      percent(refused, requests),
      count(refusedClients),
      marks.length > 0 ? `← ${marks.join(", ")}` : "",
    ];
  });
  return `${text}\n${table(["number", "refused", "share", "clients", ""], rows, [0, 1, 2, 3])}`;
}

/** How many candidates are shown on each side of the present and of the suggested one. */
const AROUND = 2;

/** The candidates that a reader compares, and where others are left out. */
function shownCandidates({ rungs: candidates, present, suggested }: Suggestion): readonly (Candidate | "gap")[] {
  // Candidates grow by a factor: the nearest one is the one with the nearest logarithm.
  const distances = candidates.map(({ limit }) => Math.abs(Math.log(limit / present)));
  const middles = [
    distances.indexOf(Math.min(...distances)),
    suggested === undefined ? candidates.length - 1 : candidates.findIndex(({ limit }) => limit === suggested),
  ];
  const shown = candidates.flatMap((_, i) => (middles.some((middle) => Math.abs(middle - i) <= AROUND) ? [i] : []));
  return shown.flatMap((i, at) =>
    at > 0 && i !== shown[at - 1]! + 1 ? ["gap" as const, candidates[i]!] : [candidates[i]!],
  );
}

/** What a suggestion says, for the page too. */
export function suggestionText({
  policy,
  limit,
  present,
  suggested,
  share: asked,
  rungs: candidates,
}: Suggestion): string {
  const what = `${policy}, limit ${limit}`;
  const now = `now ${limitNumber(present)}`;
  if (candidates.length === 0) return `${what}: no requests (${now})`;
  if (suggested === undefined) return `${what}: no number that was tried refuses less than ${share(asked)} (${now})`;
  return `${what}: ${limitNumber(suggested)} refuses less than ${share(asked)} (${now})`;
}

/** Further lines are indented. A word that is longer than a line stays whole. */
function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length <= COLUMNS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : `  ${word}`);
  }
  return `${lines.join("\n")}\n`;
}

/** What went wrong with a log while it was read, for everybody who reads the report. */
export function logNotes({ damaged, late, incomplete }: LogFacts): string[] {
  const notes = incompleteFiles(incomplete).map((text) => `The log is incomplete. ${text}`);
  if (damaged.lines > 0) {
    const first = damaged.first.map(({ file, line, reason }) => `${file}, line ${count(line)}: ${reason}`).join("; ");
    notes.push(
      `${plural(damaged.lines, "line")} could not be read, and ${are(damaged.lines)} left out. First: ${first}`,
    );
  }
  if (late > 0) {
    notes.push(`${plural(late, "request")} stood far behind later ones. The replay counts them when it reads them.`);
  }
  return notes;
}

export function incompleteFiles(incomplete: LogFacts["incomplete"]): string[] {
  return incomplete.map(({ file, reason }) => `${file}: ${reason}`);
}

function are(n: number): string {
  return n === 1 ? "is" : "are";
}
