/** Fields of forms. */

import { now, type Unit } from "../api.ts";
import { utc } from "./time.tsx";

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly maxLength?: number;
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
  readonly unit: Unit | undefined;
}

/** Whether a limit can have this number, as far as its text tells. Empty: no number is given. */
export function isNumberText(text: string, unit: Unit | undefined): boolean {
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

/** When an override ends, as a person chose it: `1h`, its instant, or nothing for "until it is removed". */
export interface Until {
  readonly word?: string;
  readonly instant?: string;
}

const UNTIL: readonly (readonly [word: string, text: string, ms: number])[] = [
  ["15m", "for 15 minutes", 900_000],
  ["1h", "for 1 hour", 3_600_000],
  ["24h", "for 24 hours", 86_400_000],
  ["7d", "for 7 days", 604_800_000],
];

/** @param word one of the durations; empty: until it is removed. */
export function untilOf(word: string): Until {
  const [, , ms] = UNTIL.find(([one]) => one === word) ?? [];
  if (ms === undefined) return {};
  // Whole seconds read better, and nobody counts the rest.
  return { word, instant: new Date(Math.ceil((now() + ms) / 1_000) * 1_000).toISOString().replace(".000Z", "Z") };
}

export function UntilField({ until, onChange }: { until: Until; onChange(until: Until): void }) {
  return (
    <label>
      How long
      <select value={until.word ?? ""} onChange={(event) => onChange(untilOf(event.currentTarget.value))}>
        {UNTIL.map(([word, text]) => (
          <option key={word} value={word}>
            {text}
          </option>
        ))}
        <option value="">until it is removed</option>
      </select>
      <small class="muted">{until.instant ? `until ${utc(Date.parse(until.instant))}` : ""}</small>
    </label>
  );
}
