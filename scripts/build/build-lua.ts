/**
 * Joins lua/*.lua into src/kernel/store/redis/script.generated.ts: the scripts that Redis runs, with the SHA-1 of both
 * variants. A generated file works the same in wrangler, vitest, the npm package and any bundler of a user; a text
 * module does not. Comments and indentation are left out, because the text is sent to Redis whenever Redis has lost the
 * script.
 *
 * `node scripts/build/build-lua.ts` writes the file. With `--check` it fails if the file differs from what lua/ gives.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as layout from "../../src/kernel/core/layout.ts";

const LUA = new URL("../../lua/", import.meta.url);
const OUTPUT = new URL("../../src/kernel/store/redis/script.generated.ts", import.meta.url);

/** The first line of the variant for Upstash. Without it, a script locks the whole database there. */
const KEY_LOCKING = "#!lua flags=allow-key-locking\n";

/**
 * The numbers of src/kernel/core/layout.ts by their names in the Lua files: `MAX_UNITS`, `KIND_FIXED_WINDOW`,
 * `FLAG_LOOK`.
 */
const NUMBERS: ReadonlyMap<string, number> = new Map(
  Object.entries(layout).flatMap(([name, value]): [string, number][] => {
    if (typeof value === "number") return [[name, value]];
    if (typeof value === "string") return [];
    return Object.entries(value).map(([member, number]) => [upperSnake(`${name}.${member}`), number]);
  }),
);

function upperSnake(name: string): string {
  return name.replace(/\.|(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/** The files of lua/ by name. */
export type LuaFiles = Readonly<Record<string, string>>;

export function readLua(): LuaFiles {
  const names = readdirSync(LUA).filter((file) => file.endsWith(".lua"));
  return Object.fromEntries(names.map((file) => [file.slice(0, -4), readFileSync(new URL(file, LUA), "utf8")]));
}

/**
 * The script as it is sent: files joined, names of the layout replaced by their numbers, no comment lines, no
 * indentation.
 */
export function joinLua(name: string, files = readLua()): string {
  const code = `${linesOf(files[name]!, files).join("\n")}\n`;
  const declared = [...code.matchAll(/\blocal (\w+(?:, \w+)*)/g)].flatMap(([, names]) => names!.split(", "));
  const known = new Set([...declared, "KEYS", "ARGV"]);
  // Texts and comments stay as they are.
  return code.replace(/'[^']*'|--.*|\b[A-Z][A-Z0-9_]+\b/g, (word) => {
    const number = NUMBERS.get(word);
    if (number !== undefined) return String(number);
    if (/^[A-Z]/.test(word) && !known.has(word)) throw new Error(`lua/: ${word} is not in src/kernel/core/layout.ts`);
    return word;
  });
}

function linesOf(source: string, files: LuaFiles): string[] {
  return source.split("\n").flatMap((line) => {
    const [, what, name] = /^\s*--@(include|algorithms)(?: (\w+))?$/.exec(line) ?? [];
    if (what === "algorithms") return algorithmLines(files);
    if (name) return linesOf(files[name]!, files);
    const code = line.trim();
    return code === "" || code.startsWith("--") ? [] : [code];
  });
}

/** All algorithms, and the list of them by kind. Each file names its kinds: `--@kinds KIND_WEIGHTED KIND_WHOLE`. */
function algorithmLines(files: LuaFiles): string[] {
  const builders: string[] = [];
  for (const [name, source] of Object.entries(files)) {
    for (const kind of /^--@kinds (.*)$/m.exec(source)?.[1]?.split(" ") ?? []) {
      const number = NUMBERS.get(kind);
      if (number === undefined) throw new Error(`lua/${name}.lua: ${kind} is not in src/kernel/core/layout.ts`);
      const other = builders[number - 1];
      if (other !== undefined) throw new Error(`lua/${name}.lua: ${kind} is a kind of ${other}.lua`);
      builders[number - 1] = name;
    }
  }
  for (const [kind, number] of Object.entries(layout.Kind)) {
    if (!builders[number - 1]) throw new Error(`lua/: no file has the kind ${kind} of src/kernel/core/layout.ts`);
  }
  const lines = [...new Set(builders)].flatMap((name) => linesOf(files[name]!, files));
  return [...lines, `local BUILDERS = { ${builders.join(", ")} }`];
}

function generate(): string {
  const scripts = ["take", "live"].flatMap((name) => {
    const [text, constant] = [joinLua(name), name.toUpperCase()];
    const locking = `{ text: ${JSON.stringify(KEY_LOCKING)} + ${constant}.text, sha1: "${sha1(KEY_LOCKING + text)}" }`;
    return [
      `/** lua/${name}.lua, for any Redis. */`,
      `export const ${constant} = { text: ${JSON.stringify(text)}, sha1: "${sha1(text)}" };`,
      "/** For Upstash: locks only the keys that it uses. */",
      `export const ${constant}_KEY_LOCKING = ${locking};`,
      "",
    ];
  });
  return [
    "// Generated from lua/ by scripts/build/build-lua.ts (npm run build:lua). Do not edit.",
    "",
    ...scripts,
  ].join("\n");
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

if (import.meta.main) {
  const wanted = generate();
  if (process.argv.includes("--check")) {
    if (readFileSync(OUTPUT, "utf8") !== wanted) {
      console.error("src/kernel/store/redis/script.generated.ts is not what lua/ says: run `npm run build:lua`.");
      process.exit(1);
    }
  } else {
    writeFileSync(OUTPUT, wanted);
  }
}
