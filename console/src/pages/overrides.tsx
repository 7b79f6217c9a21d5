/** All overrides of the live document. */

import { type Field, OVERRIDE_ENTRIES } from "../../../src/features/live/fields.ts";
import { type LiveAnswer, now, type Override } from "../api.ts";
import { effectText } from "../changes/client-changes.ts";
import { overridesOf } from "../data/entries.ts";
import { live } from "../data/live.ts";
import { useValue } from "../data/value.ts";
import { plural, shortHash } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
import { relative, Time } from "../parts/time.tsx";
import { hrefOf } from "../route.ts";

/** The fields that stand beside an effect: a column each. */
const OTHERS = OVERRIDE_ENTRIES.filter(([, { isEffect }]) => !isEffect).map(([name, field]) => {
  return { name, field, heading: name[0]!.toUpperCase() + name.slice(1) };
});

export function Overrides({ document }: { document: LiveAnswer }) {
  const overrides = overridesOf(document);
  if (overrides.length === 0) return <p class="muted">No client has an override.</p>;
  return (
    <Table
      caption={`${plural(overrides.length, "override")}: clients with other limits`}
      rows={overrides}
      keyOf={({ policy, key }) => policy + key}
      columns={[
        {
          heading: "Client",
          cell: ({ kind, key }) => (
            <>
              {kind} <code title={key}>{shortHash(key)}</code>
            </>
          ),
        },
        { heading: "Policy", cell: ({ policy }) => policy },
        { heading: "Effect", cell: (override) => effectText(override, override.policy) },
        ...OTHERS.map(({ name, field, heading }) => ({
          heading,
          cell: (override: Override) => <Other field={field} value={override[name]} />,
        })),
        {
          heading: "Open",
          is: "button",
          cell: ({ policy, key }) => (
            <a class="button small" href={hrefOf("clients", policy, key)} aria-label={`Change ${key} under ${policy}`}>
              Change
            </a>
          ),
        },
      ]}
    />
  );
}

function Other({ field, value }: { field: Field; value: unknown }) {
  if (field.is === "instant") return value === undefined ? "removed by hand" : <Until instant={value as string} />;
  return value === undefined ? <span class="muted">none</span> : String(value);
}

function Until({ instant }: { instant: string }) {
  const ms = Date.parse(instant);
  return (
    <>
      <Time ms={ms} /> <small class="muted">{ms <= now() ? "ended" : relative(ms)}</small>
    </>
  );
}

/** In place of an override while the document is not there: that there is none would be wrong. */
export function Unread({ isShort = false }: { isShort?: boolean }) {
  const state = useValue(live);
  if (state.is === "unknown") return <span class="muted">…</span>;
  if (state.is === "off") return <span class="muted">none</span>;
  return <span class="refused">{isShort ? "not known" : "not known: the live document cannot be read"}</span>;
}

/** What it does, until when, and why. */
export function OverrideText({ override }: { override: Override | null }) {
  if (!override) return <span class="muted">none: the policy's own limits hold</span>;
  return (
    <>
      <span class={override.block ? "refused" : ""}>{effectText(override, override.policy)}</span>
      {OTHERS.map(({ name, field }) => {
        const value = override[name];
        if (value === undefined) return null;
        if (field.is !== "instant") return <span key={name} class="muted">{` “${value}”`}</span>;
        return (
          <span key={name}>
            {`, ${name} `}
            <Until instant={String(value)} />
          </span>
        );
      })}
    </>
  );
}
