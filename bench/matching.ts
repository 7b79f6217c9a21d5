/**
 * How long it takes to find the policies of a request in the worst case that a random search finds: patterns with up to
 * six wildcards, and paths up to 16 KiB that resemble the patterns. Every request is new, so that nothing is
 * remembered.
 *
 *   npm run bench:matching -- --quick
 */

import { parsePolicies } from "../src/config/policies.ts";
import { compileMatcher } from "../src/http/match.ts";
import { mulberry32 } from "../test/support/mulberry32.ts";

const quick = process.argv.includes("--quick");
const PATTERNS = quick ? 60 : 600;
const LONGEST = 16 * 1024;
/** Each path counts with the quickest of this many runs, because other work shares the machine. */
const REPEATS = 15;

const random = mulberry32(20261121);
const oneOf = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;

const TEXTS = ["/a", "/items/", "/reviews/", "a", "-", "/aaaaaaab", "/v1/", "ab", ".", "/a/a/a/a"];
const WILDCARDS = [
  "*",
  "*",
  "/*",
  ":n",
  ":n(\\d+)",
  ":n([a-z]+)",
  "{/a*}?",
  "/:n+",
  "{-:n}*",
  ":n((?:a|b|-)+x)",
  "([ab]{1,20})",
];

/** A pattern, and its fixed texts: the one at its beginning and those between its wildcards. */
function drawPattern(): { pattern: string; texts: string[] } {
  const texts = [oneOf(["/", "/v1/", "/a/"])];
  let pattern = texts[0]!;
  const wildcards = 1 + Math.floor(random() * 6);
  for (let i = 0; i < wildcards; i++) {
    const text = oneOf(TEXTS);
    texts.push(text);
    pattern += oneOf(WILDCARDS).replace(":n", `:n${i}`) + text;
  }
  return { pattern, texts };
}

/** A path of the greatest length. It repeats whole or cut texts of the pattern, and ends as the pattern does or not. */
function drawPath(texts: readonly string[]): string {
  const few = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
    const text = oneOf([...texts, "a", "/a", "-", "1", "%41", "%C3%A9"]);
    return text.startsWith("%") ? text : text.slice(0, 1 + Math.floor(random() * text.length));
  });
  const unit = few.join("") || "a";
  const end = random() < 0.5 ? texts.at(-1)! : "";
  const path = texts[0]! + unit.repeat(Math.ceil(LONGEST / unit.length));
  return `${path.slice(0, LONGEST - end.length)}${end}`;
}

const limits = [{ limit: 1, window: "1m" }];

/** The path that takes longest, and its time in ms. Nothing here waits, so the time is CPU time. */
function worstMs(match: Record<string, unknown>[], cost: unknown[], paths: readonly string[]) {
  const policies = parsePolicies(
    match.map((one, i) => ({ name: `p${i}`, match: one, limits, cost })),
    "policies",
  );
  if (policies.mistakes) return undefined;
  const matcher = compileMatcher(policies.value);
  return paths
    .map((path) => {
      const request = new Request(`https://gate.example${path}`);
      const timesMs = Array.from({ length: REPEATS }, () => {
        const startMs = performance.now();
        matcher(request);
        return performance.now() - startMs;
      });
      return { ms: Math.min(...timesMs), path: `${path.slice(0, 40)}…${path.slice(-12)}` };
    })
    .reduce((a, b) => (b.ms > a.ms ? b : a));
}

interface Worst {
  readonly ms: number;
  readonly what: string;
}

function report(name: string, found: readonly Worst[]): void {
  const sorted = found.toSorted((a, b) => a.ms - b.ms);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.ms.toFixed(2);
  console.log(`| ${name} | ${found.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} | \`${sorted.at(-1)!.what}\` |`);
}

// Warm up, so that the work of the JIT compiler is not measured.
for (let i = 0; i < 20; i++) worstMs([{ path: "/*a:n-(a|b)*/x" }], [], [drawPath(["/", "a", "-a", "/x"])]);

console.log("| policies | drawn | median, ms | 99 % | worst | the worst |\n|---|---|---|---|---|---|");
for (const count of [1, 10, 100]) {
  const found: Worst[] = [];
  for (let i = 0; i < PATTERNS / Math.sqrt(count); i++) {
    const drawn = drawPattern();
    // All patterns have the same beginning, so that no pattern is ruled out by its fixed text.
    const patterns = Array.from({ length: count }, (_, n) => (n === 0 ? drawn.pattern : `${drawn.pattern}*${n}*`));
    const worst = worstMs(
      patterns.map((path) => ({ path })),
      [{ path: patterns[0], cost: 1 }],
      Array.from({ length: 4 }, () => drawPath(drawn.texts)),
    );
    if (worst) found.push({ ms: worst.ms, what: `${drawn.pattern} on ${worst.path}`.replaceAll("|", "\\|") });
  }
  report(String(count), found);
}
