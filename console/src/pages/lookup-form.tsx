/** Asks for a client's raw key. It goes to the gateway in a field, never into an address. */

import { useEffect, useState } from "preact/hooks";
import type { PolicyAnswer } from "../api.ts";
import { isAddressKind, kindOf, kindsOf, lookup } from "../data/lookup.ts";
import { useValue } from "../data/value.ts";
import { TextField } from "../parts/fields.tsx";

export function LookupForm({ policies }: { policies: readonly PolicyAnswer[] }) {
  const kinds = kindsOf(policies);
  const wanted = useValue(lookup);
  const [kind, setKind] = useState(wanted?.kind ?? kinds[0] ?? "ip");
  const [raw, setRaw] = useState<readonly string[]>(wanted?.raw ?? []);
  // A look from the field at the top fills this form too.
  useEffect(() => {
    if (!wanted) return;
    setKind(wanted.kind);
    setRaw(wanted.raw);
  }, [wanted]);

  const parts = kind.split("+");
  const values = parts.map((_, i) => raw[i] ?? "");
  const isWhole = values.every((value) => value.trim() !== "");
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        if (isWhole) lookup.set({ kind, raw: values.map((value) => value.trim()) });
      }}
    >
      <label>
        Kind of key
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
          {kinds.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {parts.map((part, i) => (
        <TextField
          key={i}
          label={part === "ip" ? "Address" : isAddressKind(part) ? `Address (${part})` : `Raw key (${part})`}
          placeholder={isAddressKind(part) ? "203.0.113.7" : "as the client sends it"}
          value={values[i]!}
          onInput={(text) => {
            const next = [...values];
            next[i] = text;
            setRaw(next);
            // An address typed under another kind: most likely the kind is not meant.
            const likely = kindOf(text, kinds);
            if (parts.length === 1 && !isAddressKind(kind) && isAddressKind(likely)) setKind(likely);
          }}
        />
      ))}
      <button type="submit" class="primary" disabled={!isWhole}>
        Look up
      </button>
      {wanted && (
        <button
          type="button"
          onClick={() => {
            lookup.set(undefined);
            setRaw([]);
          }}
        >
          Forget
        </button>
      )}
    </form>
  );
}
