/** Inputs of forms. Each kind of field of the live document has its own. */

import type { Field } from "../../../src/features/live/fields.ts";
import { type Limit, type MeterUnit, now, type PolicyAnswer } from "../api.ts";
import { Time } from "./time.tsx";

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly maxLength?: number;
  readonly inputMode?: "decimal";
  readonly disabled?: boolean;
  onInput(text: string): void;
}

export function TextField({ label, onInput, ...rest }: TextFieldProps) {
  return (
    <label>
      {label}
      <input {...rest} autocomplete="off" spellcheck={false} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

interface NumberFieldProps extends TextFieldProps {
  /** `usd`: decimals too. */
  readonly unit: MeterUnit | undefined;
}

/** Whether a limit can have this number, as far as its text tells. Empty: no number is given. */
export function isNumberText(text: string, unit: MeterUnit | undefined): boolean {
  return text === "" || (unit === "usd" ? /^\d{1,10}(?:\.\d{1,5})?$/ : /^\d{1,10}$/).test(text);
}

/** Keeps what was typed, also what is no number: its form must send nothing then (`isNumberText`). */
export function NumberField({ onInput, unit, ...rest }: NumberFieldProps) {
  const isWrong = !isNumberText(rest.value, unit);
  return (
    <label>
      {rest.label}
      <input
        value={rest.value}
        placeholder={rest.placeholder}
        inputMode={unit === "usd" ? "decimal" : "numeric"}
        autocomplete="off"
        aria-invalid={isWrong}
        onInput={(event) => onInput(event.currentTarget.value.trim())}
      />
      {isWrong && (
        <small role="alert">
          {unit === "usd" ? "Dollars, with at most 5 decimals, for example 12.50" : "A whole number, for example 100"}
        </small>
      )}
    </label>
  );
}

/** How long an override holds: what a person chooses and the gateway resolves, by its own clock. */
const DURATIONS: readonly (readonly [word: string, text: string, ms: number])[] = [
  ["15m", "for 15 minutes", 900_000],
  ["1h", "for 1 hour", 3_600_000],
  ["24h", "for 24 hours", 86_400_000],
  ["7d", "for 7 days", 604_800_000],
];

/** @param word one of the durations; empty: until it is removed. */
function UntilField({ word, onInput }: { word: string; onInput(word: string): void }) {
  const [, , ms] = DURATIONS.find(([one]) => one === word) ?? [];
  return (
    <label>
      How long
      <select value={word} onChange={(event) => onInput(event.currentTarget.value)}>
        {DURATIONS.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
        <option value="">until it is removed</option>
      </select>
      <small class="muted">
        {ms !== undefined && (
          <>
            until about <Time ms={now() + ms} />
          </>
        )}
      </small>
    </label>
  );
}

interface SelectFieldProps {
  readonly label: string;
  readonly value: string;
  /** The text of the empty value. */
  readonly empty: string;
  readonly words: readonly string[];
  onInput(word: string): void;
}

/** What people read of a word that does not explain itself. */
const EXPLAINED: Readonly<Record<string, string>> = { shadow: "shadow: count, refuse nobody" };

function SelectField({ label, value, empty, words, onInput }: SelectFieldProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onInput(event.currentTarget.value)}>
        <option value="">{empty}</option>
        {words.map((word) => (
          <option key={word} value={word}>
            {EXPLAINED[word] ?? word}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What was typed or chosen for a field: a text; by the ids of limits for numbers. */
export type Typed = string | Readonly<Partial<Record<string, string>>>;

interface FieldInputProps {
  readonly field: Field;
  readonly policy: PolicyAnswer;
  readonly typed: Typed | undefined;
  readonly disabled?: boolean;
  /** What an empty choice means. */
  readonly empty: string;
  /** The words beside the input of a limit's number, and those in it while it is empty. */
  numberWords(limit: Limit): readonly [label: string, placeholder: string];
  onInput(typed: Typed): void;
}

export function FieldInput({ field, policy, typed, disabled, empty, numberWords, onInput }: FieldInputProps) {
  const { label } = field;
  const value = typeof typed === "string" ? typed : "";
  const parts = typeof typed === "object" ? typed : {};
  switch (field.is) {
    case "numbers":
      return policy.limits.map((limit) => {
        const [words, placeholder] = numberWords(limit);
        return (
          <NumberField
            key={limit.id}
            unit={policy.meter?.unit}
            label={words}
            placeholder={placeholder}
            value={parts[limit.id] ?? ""}
            onInput={(text) => onInput({ ...parts, [limit.id]: text })}
          />
        );
      });
    case "plan":
    case "choice": {
      const words = field.is === "choice" ? field.of : Object.keys(policy.plans ?? {});
      return words.length > 0 ? <SelectField {...{ label, value, empty, words, onInput }} /> : null;
    }
    case "instant":
      return <UntilField word={value} onInput={onInput} />;
    case "factor":
      return <TextField inputMode="decimal" {...{ label, value, onInput, ...(disabled && { disabled }) }} />;
    case "text":
      return <TextField maxLength={field.maxLength} {...{ label, value, onInput }} />;
    case "flag":
      return (
        <label>
          {label}
          <input
            type="checkbox"
            checked={value !== ""}
            onChange={(event) => onInput(event.currentTarget.checked ? "true" : "")}
          />
        </label>
      );
  }
}

/** The value that was typed, as far as its text tells. Undefined: none. `null`: what was typed cannot be sent. */
export function valueIn(field: Field, typed: Typed | undefined, policy: PolicyAnswer): unknown {
  const text = typeof typed === "string" ? typed.trim() : "";
  const parts = Object.entries(typeof typed === "object" ? typed : {}).filter(([, part]) => part !== "");
  switch (field.is) {
    case "numbers":
      if (!parts.every(([, part]) => isNumberText(part!, policy.meter?.unit))) return null;
      return parts.length > 0 ? Object.fromEntries(parts.map(([id, part]) => [id, Number(part)])) : undefined;
    case "factor":
      return Number(text) > 0 ? Number(text) : undefined;
    case "flag":
      return text === "" ? undefined : true;
    default:
      return text === "" ? undefined : text;
  }
}
