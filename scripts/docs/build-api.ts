/**
 * `npm run docs:api`: writes docs/api.md, and docs/api/ for the other entries, from the package's declarations, which
 * editors show too. It fails if an exported name has no docstring. The pages freeze the types: `npm run check` compares
 * them with the declarations.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../build/build.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A declaration: its file, its name, its docstring and its text. */
interface Declaration {
  readonly file: string;
  readonly name: string;
  readonly doc: string;
  readonly code: string;
}

const HEAD = /^(?:export )?(?:declare )?(?:interface|class|function|type|const) (\w+)/;

/** The declarations of a file, each with the docstring right before it, indented as the compiler indents them. */
function declarationsIn(file: string): Declaration[] {
  const lines = readFileSync(file, "utf8").split("\n");
  const found: Declaration[] = [];
  for (let i = 0, doc = ""; i < lines.length; i++) {
    const line = lines[i]!;
    const name = HEAD.exec(line)?.[1];
    const endWhere = (ends: (line: string) => boolean) => lines.findIndex((one, l) => l >= i && ends(one));
    if (line.startsWith("/**")) {
      const end = endWhere((one) => one.includes("*/"));
      doc = lines.slice(i, end + 1).join("\n");
      i = end;
    } else if (name !== undefined) {
      const end = endWhere((one) => /^\}|\{\}$/.test(one) || /^(?! {4}).*;$/.test(one));
      const code = lines.slice(i, end + 1).join("\n");
      found.push({ file, name, doc, code: code.replace(/^export (?:declare )?|^declare /, "") });
      doc = "";
      i = end;
    } else {
      doc = "";
    }
  }
  return found;
}

/** What an entry exports, in its own order, both its own declarations and those of other files. */
function exportsOf(file: string): Declaration[] {
  const text = readFileSync(file, "utf8");
  const own = declarationsIn(file).filter(({ name }) =>
    new RegExp(`^export (?:declare )?\\w+ ${name}\\b|^export default ${name}\\b`, "m").test(text),
  );
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]+)\}(?: from "([^"]+)")?;/gm)].flatMap(([, names, from]) =>
    names!
      .split(",")
      .map((name) => name.replace(/\btype\b/, "").trim())
      .filter(Boolean)
      .map((name) => find(name, from === undefined ? file : join(dirname(file), from.replace(/\.js$/, ".d.ts")))),
  );
  return [...own, ...listed];
}

/** What a name stands for in a file, through any number of imports. Undefined: it is not the package's own. */
function lookUp(name: string, file: string): Declaration | undefined {
  const declared = declarationsIn(file).find((one) => one.name === name);
  if (declared) return declared;
  const lists = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?:type )?\{([^}]+)\} from "(\.[^"]+)";/gm);
  for (const [, names, from] of lists) {
    if (new RegExp(`\\b${name}\\b`).test(names!))
      return lookUp(name, join(dirname(file), from!.replace(/\.js$/, ".d.ts")));
  }
  return undefined;
}

function find(name: string, file: string): Declaration {
  const found = lookUp(name, file);
  if (!found) throw new Error(`${name} is not declared in ${file}`);
  return found;
}

/** What these declarations name, and what those name in turn, without themselves: the order is that of the names. */
function namedBy(exported: readonly Declaration[]): Declaration[] {
  const all = new Map(exported.map((one) => [keyOf(one), one]));
  for (const { code, file } of all.values()) {
    const types = code.replaceAll(/\/\*\*[\s\S]*?\*\/|"[^"\n]*"/g, "");
    for (const [name] of types.matchAll(/\b[A-Z]\w+\b/g)) {
      const found = lookUp(name, file);
      if (found && !all.has(keyOf(found))) all.set(keyOf(found), found);
    }
  }
  return [...all.values()].slice(new Set(exported.map(keyOf)).size).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Members of interfaces and classes without a docstring, one level deep. */
function undocumented({ name, doc, code }: Declaration): string[] {
  const lines = code.split("\n");
  const isContainer = /^(?:default )?(?:interface|class) /.test(code);
  const members = lines.flatMap((line, l) => {
    const member = /^ {4}(?:readonly )?(\w+)[?(:<]/.exec(line)?.[1];
    const documented = /\*\/\s*$/.test(lines[l - 1]!) || member === "constructor";
    return isContainer && member && !documented ? [`${name}.${member}`] : [];
  });
  return [...(doc ? [] : [name]), ...members];
}

/** A docstring as Markdown. Each tag becomes an item of a list, broken at column 120. */
function proseOf(doc: string): string {
  const text = doc
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^\s*\* ?/gm, "")
    .replace(/\{@link (\w+)\}/g, "`$1`")
    .trim();
  const [prose = "", ...tags] = text.split(/\s*(?=@(?:param|returns|throws|typeParam)\b)/);
  const lines = tags.map((tag) =>
    tag
      .replace(/\s+/g, " ")
      .replace(/^@(?:param|typeParam) (\w+)/, "- `$1`:")
      .replace(/^@returns/, "- Returns")
      .replace(/^@throws \{(\w+)\}/, "- Throws `$1`")
      .replace(/^@throws/, "- Throws")
      .trim()
      .replace(/(.{1,118})(?: |$)/g, "$1\n  ")
      .trimEnd(),
  );
  return [prose.trim(), lines.join("\n")].filter(Boolean).join("\n\n");
}

/** The page of each entry, in the order of how much it is used. */
const PAGES: Readonly<Record<string, { readonly page: string; readonly about: string }>> = {
  ".": { page: "docs/api.md", about: "the limiter, `withRateLimit` and the stores" },
  "./hono": { page: "docs/api/hono.md", about: "the middleware for Hono" },
  "./express": { page: "docs/api/express.md", about: "the middleware for Express and `node:http`" },
  "./durable-object": { page: "docs/api/durable-object.md", about: "the Durable Object that counts" },
  "./client": { page: "docs/api/client.md", about: "a `fetch` that waits as long as `Retry-After` says" },
  "./testing": { page: "docs/api/testing.md", about: "a clock for tests, and tests for a store of your own" },
  "./llm": { page: "docs/api/llm.md", about: "tokens and prices of language models, one by one" },
  "./worker": { page: "docs/api/worker.md", about: "the whole gateway" },
};
const NOT_EXPORTED = "docs/api/not-exported.md";

/** What `headgate` exports, by what a reader is about to do. Every name is in one group. */
const GROUPS: Readonly<Record<string, string>> = {
  "Create a limiter": "createLimiter LimiterOptions Limiter",
  "Limit requests":
    "withRateLimit WithRateLimitOptions RateLimitOptions LimiterSource LimitedHandler LimitedFetch ClientIp RateLimitHeaders",
  "Write policies": `PolicyInput LimitInput SlidingWindowInput FixedWindowInput SlidingLogInput TokenBucketInput
    LeakyBucketInput ConcurrencyInput CalendarInput WindowBase LimitBase Duration MatchInput KeyInput
    KeyPart CostRuleInput StatedCostInput LoosePolicy`,
  "Choose a store": `storeFromEnv durableObjectStore DurableObjectStoreOptions CountsNamespace LocationHint redisStore
    RedisStoreOptions RedisRestOptions RedisCommandOptions RedisCommand memoryStore MemoryStoreOptions splitStore
    rendezvous`,
  "Call the limiter": "PolicyTake TakeOptions KeyByHand Background WaitOptions Reservation",
  "Read a decision": `Decision DecisionBase AdmittedDecision RefusedDecision BlockedDecision UnavailableDecision
    LimitDecision PolicyDecision Became Source Hold`,
  "Observe decisions": "OnDecision DecisionContext OnWarning LimitWarning BreakerChange BreakerState",
  "Add features": "meter rpc leases shared live body ban overflow statedCost LimiterFeature",
  "Verify tokens": "jwtIdentity JwtIssuer Identify Identity",
  "Handle mistakes": "ConfigurationError Mistake MistakeCode StoreError StoreErrorCode",
  "Read a limiter's policies": "Policy Limit AlgorithmName Match CostRule AppliedPolicy RegionNames",
  "Write a store":
    "Store KeyRequest TakeRequest TakeReply LimitReply LateReply takeFrom Write remoteStore RemoteStoreOptions",
};

/** @returns the pages by their paths. @param root the folder of the built package. @throws without a docstring. */
export function generate(root: string): Readonly<Record<string, string>> {
  const manifest = readFileSync(join(root, "package.json"), "utf8");
  const { exports } = JSON.parse(manifest) as { exports: Readonly<Record<string, { readonly default: string }>> };
  if (Object.keys(exports).sort().join() !== Object.keys(PAGES).sort().join())
    throw new Error("build-api.ts: expected a page for each entry of package.json");
  const first = new Map<string, string>();
  const exported: Declaration[] = [];
  const pages: Record<string, string> = {};
  for (const [entry, { page }] of Object.entries(PAGES)) {
    const all = exportsOf(join(root, exports[entry]!.default.replace(/\.js$/, ".d.ts")));
    const own = all.filter((one) => !first.has(keyOf(one)));
    for (const one of own) first.set(keyOf(one), page);
    exported.push(...own);
    const also = all
      .filter((one) => !own.includes(one))
      .map(
        (one) => `- [\`${one.name}\`](${relative(dirname(page), first.get(keyOf(one))!)}#${one.name.toLowerCase()})`,
      );
    const sections =
      entry === "."
        ? groupsOf(own).map(([group, ones]) => `## ${group}\n\n${ones.map((one) => sectionAt(one, "###")).join("\n")}`)
        : [...own.filter(isValue), ...own.filter((one) => !isValue(one))].map((one) => sectionAt(one, "##"));
    if (also.length > 0) sections.push(`## Also exported\n\n${also.join("\n")}\n`);
    pages[page] = `${headOf(entry, page)}\n${sections.join("\n")}`;
  }
  const missing = exported.flatMap(undocumented);
  if (missing.length > 0) throw new Error(`without a docstring: ${missing.join(", ")}`);
  const named = namedBy(exported).map((one) => sectionAt(one, "##"));
  pages[NOT_EXPORTED] = [
    `# Types that aren't exported\n\n${MARK}\n\nThe [API](../api.md) names these types, but you can't import them.\n`,
    ...named,
  ].join("\n");
  return pages;
}

const MARK = "<!-- Generated by `npm run docs:api` from the declarations of the package. -->";

function headOf(entry: string, page: string): string {
  const specifier = (one: string) => `headgate${one.slice(1)}`;
  const linkTo = (target: string) => relative(dirname(page), target);
  const hidden = `Types that are named here but aren't exported are on [a page of their own](${linkTo(NOT_EXPORTED)}).`;
  if (entry !== ".") return `# ${specifier(entry)}\n\n${MARK}\n\n${upper(PAGES[entry]!.about)}.\n\n${hidden}\n`;
  const others = Object.entries(PAGES).filter(([one]) => one !== ".");
  const rows = others.map(([one, { page, about }]) => `| [\`${specifier(one)}\`](${linkTo(page)}) | ${about} |`);
  const table = ["| Import | What it is |", "|---|---|", ...rows].join("\n");
  const intro = "What `headgate` exports. [Use headgate in your code](library.md) shows how to use it.";
  return `# API\n\n${MARK}\n\n${intro}\nOther imports have pages of their own:\n\n${table}\n\n${hidden}\n`;
}

const isValue = ({ code }: Declaration) => /^(?:class|function|const) /.test(code);

const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const keyOf = ({ file, name }: Declaration) => `${name} ${file}`;

function groupsOf(all: readonly Declaration[]): [string, Declaration[]][] {
  const byName = new Map(all.map((one) => [one.name, one]));
  const groups = Object.entries(GROUPS).map(([group, names]): [string, Declaration[]] => [
    group,
    names.split(/\s+/).map((name) => {
      const one = byName.get(name);
      if (!byName.delete(name)) throw new Error(`build-api.ts: ${name} is not exported, or in two groups`);
      return one!;
    }),
  ]);
  if (byName.size > 0) throw new Error(`build-api.ts: in no group: ${[...byName.keys()].join(", ")}`);
  return groups;
}

/** The section of a declaration. What an interface takes over from one that is not exported stands below it. */
function sectionAt(one: Declaration, level: string): string {
  const { name, doc, code } = one;
  const base = /^interface \w+ extends (LimitStatus)\b/.exec(code)?.[1];
  const codes = base === undefined ? [code] : [code, find(base, one.file).code];
  const indented = codes.join("\n\n").replaceAll(/^( +)/gm, (indent) => " ".repeat(indent.length / 2));
  const title = name === "_default" ? "default" : name;
  return [`${level} ${title}`, proseOf(doc), `\`\`\`ts\n${indented}\n\`\`\`\n`].filter(Boolean).join("\n\n");
}

if (import.meta.main) {
  build();
  for (const [page, text] of Object.entries(generate(ROOT))) {
    const file = join(ROOT, page);
    if (!process.argv.includes("--check")) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    } else if (readFileSync(file, "utf8") !== text) {
      console.error(`the exported types differ from ${page}: read STABILITY.md, then run \`npm run docs:api\``);
      process.exitCode = 1;
    }
  }
}
