/** A client under one policy: what it has left, what the live document says of it, and what can be done. */

import { fieldsOf } from "../../../src/features/live/fields.ts";
import type { CountsAnswer, Limit, PolicyAnswer } from "../api.ts";
import { LimitBar } from "../charts/limit-bar.tsx";
import { policyNamed } from "../data/live.ts";
import { RECENT_MINUTES, stats } from "../data/stats.ts";
import { useValue } from "../data/value.ts";
import { Copy } from "../parts/command.tsx";
import { plural, shortHash } from "../parts/numbers.ts";
import { hrefOf } from "../route.ts";
import { ClientActions } from "./client-actions.tsx";
import { OverrideText } from "./overrides.tsx";
import { Places } from "./places.tsx";

interface ClientCardProps {
  readonly counts: CountsAnswer;
  readonly raw: readonly string[];
  onChanged(): void;
}

/** A bucket holds its burst. A client's own numbers change the burst too, in the same proportion. */
export function capacityOf({ id, limit }: CountsAnswer["limits"][number], policy: PolicyAnswer | undefined): number {
  const inForce = limitNamed(id, policy);
  return inForce?.burst === undefined ? limit : Math.max(1, Math.floor((inForce.burst * limit) / inForce.limit));
}

export function limitNamed(id: string, policy: PolicyAnswer | undefined): Limit | undefined {
  return policy?.limits.find((one) => one.id === id);
}

export function ClientCard({ counts, raw, onChanged }: ClientCardProps) {
  const { policy, kind, key, override, limits } = counts;
  const { recent } = useValue(stats);
  const limited = recent?.top[policy]?.find((one) => one.key === key);
  const known = policyNamed(policy);
  return (
    <section class="card" aria-label={`${policy}: ${raw.join(" ")}`}>
      <h3>
        <a href={hrefOf("policies", policy)}>{policy}</a>
        {known?.mode === "shadow" && <span class="tag would">shadow</span>}
      </h3>
      <p class="facts">
        Hash <code title={key}>{shortHash(key)}</code> <Copy text={key} what="hash" />
        {limited && (
          <span class="refused">
            {plural(limited.refused, "refusal")} in {RECENT_MINUTES} min
          </span>
        )}
      </p>
      {limited && (
        <div>
          <b>Where</b> <Places client={limited} />
        </div>
      )}
      {override?.exempt ? (
        <p>The policy does not apply to this client.</p>
      ) : (
        <ul class="limits">
          {limits.map((limit) => (
            <LimitBar
              key={limit.id}
              {...limit}
              capacity={capacityOf(limit, known)}
              inForce={limitNamed(limit.id, known)}
            />
          ))}
        </ul>
      )}
      <p>
        <b>Override</b> <OverrideText override={override} />
      </p>
      <ClientActions client={{ policy, kind, hash: key, raw }} before={fieldsOf(override)} onChanged={onChanged} />
    </section>
  );
}
