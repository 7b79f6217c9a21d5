/**
 * What operators can write into the live document. Each field stands here once: its check, its reading, the admin API,
 * `headgate admin` and the console follow from these tables. What a field does is in view.ts and apply.ts. For people:
 * docs/operate.md.
 */

import { isTable } from "../../kernel/config/bindings.ts";
import { mode as modes } from "../../kernel/config/fields/basics.ts";
import { parseDurationMs } from "../../kernel/core/duration.ts";

/** An entry of the document as it was read, or as somebody writes it: unchecked. */
export type Entry = Readonly<Record<string, unknown>>;

/**
 * How the values of a field are written. `choice`: one of some words. `flag`: `true`, or absent; `state` says what the
 * client is then. `text`: 1 to `maxLength` characters.
 */
type Kind =
  | { readonly is: "numbers" | "factor" | "plan" | "instant" }
  | { readonly is: "choice"; readonly of: readonly string[] }
  | { readonly is: "flag"; readonly state: string }
  | { readonly is: "text"; readonly maxLength: number };

/** The types of the values. */
interface ValueTypes {
  /** By the id of a limit: its number as in the configuration, which fits the window. */
  readonly numbers: Readonly<Record<string, number>>;
  readonly factor: number;
  /** The name of one of the policy's plans. */
  readonly plan: string;
  /** In RFC 3339. */
  readonly instant: string;
  readonly flag: true;
  readonly text: string;
}
type ValueOf<F> = F extends { readonly of: readonly (infer Word)[] }
  ? Word
  : F extends { readonly is: infer Is extends keyof ValueTypes }
    ? ValueTypes[Is]
    : never;
type ValuesOf<Fields> = { readonly [Name in keyof Fields]?: ValueOf<Fields[Name]> };

export type Field = Kind & {
  /** The console's words for it: beside its input, or on its button. */
  readonly label: string;
  /** What it is for, as the command line says it. */
  readonly help: string;
};

interface OverrideField {
  /** An override without any effect is refused. */
  readonly isEffect: boolean;
  readonly notBeside?: string;
  /** The option of `headgate admin override`, and of `headgate admin block` if the field is no effect. */
  readonly option?: string;
}

/** What a live document changes about a policy, for all clients. `headgate admin` has a command of each name. */
export const POLICY_FIELDS = {
  mode: {
    is: "choice",
    of: modes.fields.mode.words,
    label: "Mode",
    help: "enforce a policy, or only try it out",
  },
  limits: {
    is: "numbers",
    label: "Limits",
    help: "give a policy's limits other numbers, for all clients",
  },
} as const satisfies Readonly<Record<string, Field>>;

/** What a live document changes for one client under one policy. */
export const OVERRIDE_FIELDS = {
  limits: {
    is: "numbers",
    isEffect: true,
    label: "or",
    option: "--limit <limit=number>",
    help: "another number for one limit; may be given several times",
  },
  /** Multiplies limits and bursts, rounded down, at least 1. */
  factor: {
    is: "factor",
    isEffect: true,
    notBeside: "limits",
    label: "Times as much",
    option: "--factor <number>",
    help: "multiply all limits",
  },
  plan: { is: "plan", isEffect: true, label: "or plan", option: "--plan <name>", help: "the limits of a plan" },
  /** The policy does not apply to this client. */
  exempt: { is: "flag", state: "exempt", isEffect: true, label: "Exempt", option: "--exempt", help: "no limits" },
  /**
   * The client is refused without a call to the store. Other fields hold again when the block is lifted: therefore it
   * has commands of its own, and no option.
   */
  block: { is: "flag", state: "blocked", isEffect: true, label: "Block", help: "refuse a client with 403" },
  /** The instant at which the override ends. Absent: it stays until it is removed. */
  until: {
    is: "instant",
    isEffect: false,
    label: "How long",
    option: "--until <when>",
    help: 'when it ends: a duration such as "2h", or an instant',
  },
  note: {
    is: "text",
    maxLength: 500,
    isEffect: false,
    label: "Why (a note, stored)",
    option: "--note <text>",
    help: "why",
  },
} as const satisfies Readonly<Record<string, Field & OverrideField>>;

export type LivePolicy = ValuesOf<typeof POLICY_FIELDS>;
/** An override without its client: what a `PUT` takes. */
export type OverrideFields = ValuesOf<typeof OVERRIDE_FIELDS>;

/** The fields of a policy and of an override, in the order in which people read them. */
export const POLICY_ENTRIES = Object.entries<Field>(POLICY_FIELDS) as [keyof LivePolicy, Field][];
export const OVERRIDE_ENTRIES = Object.entries<Field & OverrideField>(OVERRIDE_FIELDS) as [
  keyof OverrideFields,
  Field & OverrideField,
][];
/** The fields that do something by themselves. */
export const EFFECTS = OVERRIDE_ENTRIES.filter(([, { isEffect }]) => isEffect).map(([name]) => name);

/** Whether a value is of the field's kind. What must also fit the policy is not known here. */
export function isOfKind(field: Field, value: unknown): boolean {
  switch (field.is) {
    case "numbers":
      return isTable(value) && Object.keys(value).length > 0;
    case "factor":
      return typeof value === "number" && Number.isFinite(value) && value > 0;
    case "plan":
      return typeof value === "string";
    case "choice":
      return field.of.some((word) => word === value);
    case "flag":
      return value === true;
    case "instant":
      return !Number.isNaN(instantOf(value));
    case "text":
      return typeof value === "string" && value !== "" && value.length <= field.maxLength;
  }
}

/** What a document says of a policy after a patch. `null` undoes a change; of numbers, one by one. Unchecked. */
export function patched(before: Entry, patch: Entry): Record<string, unknown> {
  const fields = POLICY_ENTRIES.map(([name, { is }]): [string, unknown] => {
    const [earlier, given] = [before[name], patch[name]];
    if (is !== "numbers" || given === null) return [name, given === undefined ? earlier : given];
    const all = Object.entries({ ...(isTable(earlier) && earlier), ...(isTable(given) && given) });
    const numbers = all.filter(([, number]) => number !== null);
    return [name, numbers.length > 0 ? Object.fromEntries(numbers) : undefined];
  });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined && value !== null));
}

/** An override without its client. Undefined: there is no override. */
export function fieldsOf(override: unknown): OverrideFields | undefined {
  if (!isTable(override)) return undefined;
  return Object.fromEntries(
    OVERRIDE_ENTRIES.filter(([name]) => override[name] !== undefined).map(([name]) => [name, override[name]]),
  );
}

/** The rest of an override whose block is lifted. Undefined: nothing is left. */
export function withoutBlock({ block: _, ...rest }: OverrideFields): OverrideFields | undefined {
  return EFFECTS.some((name) => name in rest) ? rest : undefined;
}

const RFC_3339 = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since the epoch; NaN: no instant of RFC 3339. */
export function instantOf(value: unknown): number {
  const [text, day] = (typeof value === "string" && RFC_3339.exec(value)) || [];
  if (text === undefined || day === undefined) return Number.NaN;
  // `Date.parse` takes the 30th of February for a day of March.
  const isDay = new Date(Date.parse(day)).getUTCDate() === Number(day.slice(-2));
  return isDay ? Date.parse(text) : Number.NaN;
}

/** The end of a duration such as `"5m"` as an instant, in whole seconds. What is no duration stays as it is. */
export function endOf(until: unknown, nowMs: number): unknown {
  const durationMs = parseDurationMs(until);
  if (!durationMs) return until;
  const endMs = Math.min(nowMs + durationMs, MAX_DATE_MS);
  const instant = new Date(Math.ceil(endMs / 1_000) * 1_000).toISOString().replace(".000Z", "Z");
  return Number.isNaN(instantOf(instant)) ? until : instant;
}

/** The last instant of a `Date`. */
const MAX_DATE_MS = 8.64e15;
