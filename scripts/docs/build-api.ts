/**
 * `npm run docs:api`: writes docs/api.md from the package's declarations, which editors show too. `--check` fails if
 * the page differs from the declarations. Both fail if an exported name has no docstring. With `--built` dist/ is read
 * as the step before has built it.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../build/build.ts";

const OUTPUT = fileURLToPath(new URL("../../docs/api.md", import.meta.url));
const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

const ENTRIES: readonly (readonly [specifier: string, file: string])[] = [
  ["headgate", "index.d.ts"],
  ["headgate/hono", "hono.d.ts"],
  ["headgate/express", "express.d.ts"],
  ["headgate/client", "client/index.d.ts"],
  ["headgate/llm", "llm/index.d.ts"],
  ["headgate/durable-object", "durable-object.d.ts"],
  ["headgate/worker", "worker.d.ts"],
  ["headgate/testing", "testing/index.d.ts"],
];

/** An exported declaration: its name, its docstring and its text. */
interface Declaration {
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
      found.push({ name, doc, code: code.replace(/^export (?:declare )?|^declare /, "") });
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

/** Where a name is declared, through any number of imports. */
function find(name: string, file: string): Declaration {
  const declared = declarationsIn(file).find((one) => one.name === name);
  if (declared) return declared;
  const lists = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?:type )?\{([^}]+)\} from "(\.[^"]+)";/gm);
  for (const [, names, from] of lists) {
    if (new RegExp(`\\b${name}\\b`).test(names!))
      return find(name, join(dirname(file), from!.replace(/\.js$/, ".d.ts")));
  }
  throw new Error(`${name} is not declared in ${file}`);
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

export function generate(): string {
  const seen = new Map<string, string>();
  const missing: string[] = [];
  const sections = ENTRIES.map(([specifier, file]) => {
    const parts = exportsOf(join(DIST, file)).map((one) => {
      const text = `### ${one.name}\n\n${proseOf(one.doc)}\n\n\`\`\`ts\n${one.code.replaceAll(/^( +)/gm, (indent) => " ".repeat(indent.length / 2))}\n\`\`\`\n`;
      const before = seen.get(text);
      if (before !== undefined) return `### ${one.name}\n\nAs in [\`${before}\`](#${one.name.toLowerCase()}).\n`;
      seen.set(text, specifier);
      missing.push(...undocumented(one));
      return text;
    });
    return `## ${specifier}\n\n${parts.join("\n")}`;
  });
  if (missing.length > 0) throw new Error(`without a docstring: ${missing.join(", ")}`);
  const head = "# API\n\nWritten by `npm run docs:api` from the declarations of the package. Do not edit.\n";
  return `${[head, ...sections].join("\n").trimEnd()}\n`;
}

if (import.meta.main) {
  if (!process.argv.includes("--built")) build();
  const page = generate();
  if (!process.argv.includes("--check")) {
    writeFileSync(OUTPUT, page);
  } else if (readFileSync(OUTPUT, "utf8") !== page) {
    console.error("docs/api.md is not what the declarations say: run `npm run docs:api`.");
    process.exitCode = 1;
  }
}
