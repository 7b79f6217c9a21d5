/** What the command line says of the fields of the live document. */

import { Option } from "commander";
import { bareExpected, parseDurationMs } from "../../core/duration.ts";
import { EFFECTS, type Field, instantOf, OVERRIDE_ENTRIES, type OverrideFields } from "../../limiter/live/fields.ts";
import { Misuse } from "../io.ts";

/** What commander gives for an option or an argument. */
export type Given = string | readonly string[] | true;

/** The options of `admin override`: a field without one has a command of its own. */
const OPTIONS = OVERRIDE_ENTRIES.flatMap(([name, field]) => {
  if (field.option === undefined) return [];
  const option = new Option(field.option, field.help);
  if (field.is === "numbers") option.argParser(collect);
  if (field.is === "choice") option.choices(field.of);
  return [{ name, field, option }];
});

/** A block is an effect of its own: `admin block` has options for the fields that stand beside any effect. */
export function optionsOf(command: "override" | "block"): readonly Option[] {
  return OPTIONS.filter(({ field }) => command === "override" || !field.isEffect).map(({ option }) => option);
}

/** The fields that the options describe. */
export function fieldsIn(options: object, nowMs: number): OverrideFields {
  const given = options as Readonly<Record<string, Given | undefined>>;
  const fields = OPTIONS.flatMap(({ name, field, option }) => {
    const value = given[option.attributeName()];
    return value === undefined ? [] : [[name, fieldValue(field, value, option.long!, nowMs)]];
  });
  return Object.fromEntries(fields);
}

/** The override that the options of `admin override` describe. Undefined: it is to be removed. */
export function overrideIn(options: { readonly remove?: unknown }, nowMs: number): OverrideFields | undefined {
  const fields = fieldsIn(options, nowMs);
  const isRight = options.remove ? Object.keys(fields).length === 0 : EFFECTS.some((name) => name in fields);
  if (isRight) return options.remove ? undefined : fields;
  const flags = OPTIONS.filter(({ field }) => field.isEffect).map(({ option }) => option.long);
  throw new Misuse(`expected ${flags.slice(0, -1).join(", ")} or ${flags.at(-1)}, or --remove alone`);
}

/** A field's value. @param flag where it was given. @throws {Misuse} */
export function fieldValue(field: Field, given: Given, flag: string, nowMs: number): unknown {
  switch (field.is) {
    case "numbers":
      return numbersIn(given as readonly string[]);
    case "factor":
      return factorIn(given as string, flag);
    case "instant":
      return instantIn(given as string, flag, nowMs);
    // The gateway knows which of them are right.
    case "plan":
    case "choice":
    case "flag":
    case "text":
      return given;
  }
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

function factorIn(text: string, flag: string): number {
  const factor = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && factor > 0) return factor;
  throw new Misuse(`${flag}: expected a number above 0, for example 2 or 0.5`);
}

/** An instant or a day in the future, or a duration from now, as an instant in UTC. */
function instantIn(text: string, flag: string, nowMs: number): string {
  const durationMs = parseDurationMs(text);
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const atMs = durationMs === undefined ? instantOf(instant) : nowMs + durationMs;
  const expected =
    bareExpected(text, 1, LAST_INSTANT_MS - nowMs) ??
    'a duration such as "2h", or an instant in the future such as "2026-12-01T00:00:00Z"';
  if (!(atMs > nowMs) || atMs > LAST_INSTANT_MS) throw new Misuse(`${flag}: expected ${expected}`);
  return new Date(atMs).toISOString();
}

/** The end of the year 9999: later instants are not written with four digits. */
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);

/** `api-1=200`, or dollars as in `usd-1=12.50`, as `{ "api-1": 200 }`; `default` undoes. */
function numbersIn(pairs: readonly string[]): Record<string, number | null> {
  const limits = pairs.map((pair): [string, number | null] => {
    const [, id, number] = /^([a-z0-9-]+)=(\d{1,10}(?:\.\d{1,5})?|default)$/.exec(pair) ?? [];
    if (id === undefined) throw new Misuse(`expected <limit>=<number>, for example api-1=200; found ${pair}`);
    return [id, number === "default" ? null : Number(number)];
  });
  return Object.fromEntries(limits);
}
