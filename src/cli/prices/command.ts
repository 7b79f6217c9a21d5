/** `headgate prices`: brings the prices of a table that the user keeps into the library or into wrangler.toml. */

import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import { isReadable, readText, writeText } from "../files.ts";
import { type Io, Misuse } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { changesBetween, describeChanges } from "./changes.ts";
import { pricesInto } from "./into-toml.ts";
import { type Prices, readTable } from "./table.ts";

interface PricesOptions {
  readonly out?: string;
  readonly into?: string;
  readonly json?: boolean;
}

export function addPrices(program: Command, io: Io): void {
  program
    .command("prices")
    .description("check a table of prices, and print it as JSON or write it where a meter reads it")
    .argument("<table>", "a CSV file with a column model and columns of prices, or JSON in the form of `prices`")
    .option("--out <file>", "write the JSON to this file, for the library")
    .option("--into <file>", "write the prices into wrangler.toml, between its comments for them")
    .option("--json", "print one JSON object: file, added, removed, changed. Without --out and --into: the prices")
    .action((table: string, options: PricesOptions) => prices(table, options, io));
}

function prices(table: string, { out, into, json = false }: PricesOptions, io: Io): void {
  if (out !== undefined && into !== undefined) throw new Misuse("expected --out or --into; found both");
  const target = out ?? into;
  if (target !== undefined && resolve(io.cwd, target) === resolve(io.cwd, table)) {
    throw new Misuse("expected another file than the table to write to; found the same");
  }
  const read = readTable(readText(io.cwd, table), basename(table));
  if (target === undefined) {
    io.out(jsonText(read));
    return;
  }
  const { text, before } = into === undefined ? asJson(target, read, io) : asToml(target, read, io);
  writeText(resolve(io.cwd, target), text, target);
  const changes = changesBetween(before, read);
  if (json) {
    io.out(jsonText({ file: target, ...changes }));
    return;
  }
  const lines = describeChanges(changes);
  const models = Object.keys(read).length;
  io.out(line(`${target}: ${models} models, ${lines.length === 0 ? "nothing has changed" : "changed:"}`));
  for (const one of lines) io.out(line(`  ${one}`));
}

/** What was there before may be anything. */
function asJson(file: string, prices: Prices, io: Io) {
  const known = isReadable(resolve(io.cwd, file)) ? parseJson(readText(io.cwd, file)) : undefined;
  return { text: jsonText(prices), before: (isTable(known) ? known : {}) as Prices };
}

function asToml(file: string, prices: Prices, io: Io) {
  if (!file.endsWith(".toml")) throw new Misuse(`--into: expected a file that ends with .toml; found ${file}`);
  return pricesInto(readText(io.cwd, file), prices, basename(file));
}
