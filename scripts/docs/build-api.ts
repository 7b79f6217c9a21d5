/**
 * `npm run docs:api`: writes docs/api.md from the package's declarations, which editors show too. It fails if an
 * exported name has no docstring. The page freezes the exported types: `npm run check` compares it with the
 * declarations.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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
  const keyOf = ({ file, name }: Declaration) => `${name} ${file}`;
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

/** @param root the folder of the built package. @throws if an exported name has no docstring. */
export function generate(root: string): string {
  const manifest = readFileSync(join(root, "package.json"), "utf8");
  const { exports } = JSON.parse(manifest) as { exports: Readonly<Record<string, { readonly types: string }>> };
  const seen = new Map<string, string>();
  const exported: Declaration[] = [];
  const textOf = ({ name, doc, code }: Declaration) => {
    const indented = code.replaceAll(/^( +)/gm, (indent) => " ".repeat(indent.length / 2));
    return [`### ${name}`, proseOf(doc), `\`\`\`ts\n${indented}\n\`\`\`\n`].filter(Boolean).join("\n\n");
  };
  const sections = Object.entries(exports).map(([entry, { types }]) => {
    const specifier = `headgate${entry.slice(1)}`;
    const parts = exportsOf(join(root, types)).map((one) => {
      const text = textOf(one);
      const before = seen.get(text);
      if (before !== undefined) return `### ${one.name}\n\nAs in [\`${before}\`](#${one.name.toLowerCase()}).\n`;
      seen.set(text, specifier);
      exported.push(one);
      return text;
    });
    return `## ${specifier}\n\n${parts.join("\n")}`;
  });
  const missing = exported.flatMap(undocumented);
  if (missing.length > 0) throw new Error(`without a docstring: ${missing.join(", ")}`);
  const head = "# API\n\nWritten by `npm run docs:api` from the declarations of the package. Do not edit.\n";
  const named = namedBy(exported).map(textOf).join("\n");
  return `${head}\n${sections.join("\n")}\n## Not exported\n\nThe declarations above name these too.\n\n${named.trimEnd()}\n`;
}

if (import.meta.main) {
  build();
  const page = join(ROOT, "docs/api.md");
  if (!process.argv.includes("--check")) {
    writeFileSync(page, generate(ROOT));
  } else if (readFileSync(page, "utf8") !== generate(ROOT)) {
    console.error("the exported types differ from docs/api.md: read STABILITY.md, then run `npm run docs:api`");
    process.exitCode = 1;
  }
}
