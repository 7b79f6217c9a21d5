// Which features the kernel names in its code: its files, the features, and the words that betray each.

import { globSync, readFileSync } from "node:fs";
import { SyntaxKind } from "typescript/unstable/ast";
import { createScanner } from "typescript/unstable/ast/scanner";

const KERNEL = ["src/kernel/**/*.ts", "lua/*.lua"];

/** Files there that are a feature's own, or generated. */
const NOT_KERNEL = [
  ...["lua/live", "lua/once", "src/**/*.generated"],
  ...["admin", "alerts", "counts", "identity"].map((name) => `src/kernel/config/${name}`),
  // What a limiter, a place and a request know of a feature as data.
  ...["limiter/live", "limiter/numbers", "limiter/takers", "place/lease", "place/slots", "place/telling"].map(
    (name) => `src/kernel/${name}`,
  ),
  ...["limiter/identity", "store/live"].map((name) => `src/kernel/${name}`),
].map((stem) => `${stem}.{ts,lua}`);

/** Paths below src/kernel/, or of lua/, where the words mean something else, or may stand. */
type NotIn = RegExp;

/**
 * What betrays a feature in a name, written in small letters with hyphens: `isOverflow` is `is-overflow`. Whoever gives
 * a feature another word adds it here.
 */
const FEATURES: Readonly<Record<string, readonly [words: RegExp, notIn?: NotIn]>> = {
  alerts: [/\b(alerts?|alerting)\b/],
  rpc: [/\b(rpc|tools?|(by|match|needs)-calls)\b/],
  identity: [/\b(identity(?!-transform)|identify(ing)?|jwt|jwks|claims?)\b/],
  plans: [/\b(plans?|planned)\b/],
  // A log has live entries.
  live: [/\blive\b/, /^core\/sliding-log/],
  // The core and the script must know a request's id: what it has paid is stored with the counts.
  once: [/(?<!(ask|at|decide|settle)-)\bonce\b(?!-for-equal)|\brepeat(s|ed)?\b/, /^(core|lua|request\/(pattern|text))/],
  // A header field is called `Link`.
  overflow: [/\b(overflows?|chain(s|ed)?|links?|payers?|paid|unpaid)\b/, /^http\/(earlier|problem)/],
  meter: [/\b(meter(s|ed)?|usage|llm|log-tokens|(in|out)put-tokens)\b/],
  // Windows and records have a `count`, too.
  count: [/^(count|policy-count|err-policy-count)$|\bending\b/, /^(core\/(?!policy)|place|store|lua)/],
  // `concurrency` is an algorithm, too.
  slots: [
    /(?<!(block|hash)-)\b(slots?|concurrency|hold|held(?!-back))\b/,
    /^(core\/(algorithms|concurrency)|lua\/(concurrency|records))/,
  ],
  // An algorithm is in the core and in the script.
  ban: [/\b(bans?|banned)\b/, /^(core\/(?!policy)|lua)/],
  delay: [/\bdelay(s|ed)?\b/, /^(core\/token-bucket|lua\/token_bucket)/],
  // A policy's own answer. That something is refused is the kernel's business.
  refusal: [
    /^refusal$|policy-refusal|refusal-(input|mistakes|options|statuses)/,
    /^(core\/(?!policy)|place|limiter|http\/(?!refusal)|lua)/,
  ],
  leases: [/\b(leases?|leased)\b/],
  // Overflows, addresses and nodes are shared, too.
  shared: [/(?<!transaction-)\b(shared|sync)\b(?!-(address|overflows))/, /^(config\/redis|http\/shared-address)/],
  places: [/-split\b|\bsplit[-/]|\b(rendezvous|shards?|places-of)\b/],
  "limits-page": [/\b(limits-pa(ge|th)|help(-path)?)\b/],
  explain: [/\b(explain|explanation)/],
};

/** The names in a text that betray a feature, by feature. @param path where the text stands, from the root. */
export function featuresIn(path: string, text: string): ReadonlyMap<string, readonly string[]> {
  const at = path.replace(/^src\/kernel\//, "");
  const names = (path.endsWith(".lua") ? namesInLua(text) : namesIn(text)).map(
    (name) => [name, hyphened(name)] as const,
  );
  const found = Object.entries(FEATURES).map(([feature, [words, notIn]]) => {
    const betraying = notIn?.test(at) ? [] : names.filter(([, hyphened]) => words.test(hyphened));
    return [feature, betraying.map(([name]) => name)] as const;
  });
  return new Map(found.filter(([, betraying]) => betraying.length > 0));
}

function hyphened(name: string): string {
  const apart = name.replace(/([a-z0-9])([A-Z])/g, "$1-$2").replace(/([A-Z])([A-Z][a-z])/g, "$1-$2");
  return apart.replace(/_/g, "-").toLowerCase();
}

const namesInLua = (text: string) => text.replace(/--.*/g, "").match(/[a-z_]\w*/gi) ?? [];

/** Identifiers, and texts without a space: names of members, values, modules. Neither comments nor sentences. */
function namesIn(text: string): string[] {
  const scanner = createScanner(true);
  scanner.setText(text);
  const names: string[] = [];
  /** Braces that are open within each open `${`. */
  const open: number[] = [];
  let last = SyntaxKind.Unknown;
  for (let kind = scanner.scan(); kind !== SyntaxKind.EndOfFile; kind = scanner.scan()) {
    if (kind === SyntaxKind.CloseBraceToken && open.at(-1) === 0) {
      kind = scanner.reScanTemplateToken(false);
      if (kind === SyntaxKind.TemplateTail) open.pop();
    } else if (kind === SyntaxKind.TemplateHead) open.push(0);
    else if (kind === SyntaxKind.OpenBraceToken && open.length > 0) open[open.length - 1]!++;
    else if (kind === SyntaxKind.CloseBraceToken && open.length > 0) open[open.length - 1]!--;
    else if (kind === SyntaxKind.SlashToken && !ENDS_VALUE.has(last)) kind = scanner.reScanSlashToken();
    const value = scanner.getTokenValue();
    if (kind === SyntaxKind.Identifier) names.push(value);
    if (TEXTS.has(kind) && /^\S+$/.test(value)) names.push(value);
    last = kind;
  }
  return names;
}

const TEXTS = new Set([SyntaxKind.StringLiteral, SyntaxKind.NoSubstitutionTemplateLiteral]);
/** After these a slash divides. Elsewhere it begins a regular expression. */
const ENDS_VALUE = new Set([
  ...[SyntaxKind.Identifier, SyntaxKind.NumericLiteral, SyntaxKind.TemplateTail],
  ...[SyntaxKind.CloseParenToken, SyntaxKind.CloseBracketToken, SyntaxKind.CloseBraceToken],
]);

/** @param root the folder that holds src/ and lua/. @returns of each file of the kernel that names a feature. */
export function featuresInKernel(root: string): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> {
  const files = globSync(KERNEL, { cwd: root, exclude: NOT_KERNEL }).sort();
  const found = files.map((file) => [file, featuresIn(file, readFileSync(`${root}${file}`, "utf8"))] as const);
  return new Map(found.filter(([, features]) => features.size > 0));
}
