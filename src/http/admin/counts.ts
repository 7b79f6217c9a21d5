/** `/counts/<policy>`: what each limit holds for a client. */

import { toWritten } from "../../core/units.ts";
import { backgroundOf } from "../background.ts";
import { answer, unavailable } from "./answer.ts";
import { type AdminApp, audit, audited, type Calls, type NamedClient, shownClient } from "./calls.ts";

const AWAY = "The counts cannot be read: the store does not answer.";

export function serveCounts(app: AdminApp, { limiter, editor, forClient }: Calls): void {
  /** Policies in shadow count too. Undefined: the store does not answer. */
  async function look(c: Parameters<typeof backgroundOf>[0], { applied, region }: NamedClient) {
    const decision = await limiter.inspect(applied, region, backgroundOf(c));
    const limits = [...decision.limits, ...decision.shadow].map(({ limit, remaining, resetAfterMs }) => {
      const written = (units: number) => toWritten(units, limit.unit);
      const numbers = { limit: written(limit.limit), remaining: written(remaining) };
      return { id: limit.id, ...(limit.unit && { unit: limit.unit }), ...numbers, resetAfterMs };
    });
    // Of several places one may have no answer: its limits are missing.
    const isWhole = decision.source !== "fallback" && limits.length === applied.policy.limits.length;
    return isWhole ? limits : undefined;
  }

  app.get(
    "/counts/:policy",
    forClient(async (c, client, policy) => {
      const { partition } = client.applied;
      const view = (await editor?.newest())?.view;
      const limits = await look(c, client);
      const override = view?.client(policy.name, partition, Date.now())?.override ?? null;
      // An operator who blocks a client needs its override, and this client may be why the store has no answer.
      return limits ? answer({ ...shownClient(client.applied), override, limits }) : unavailable(AWAY, { override });
    }),
  );

  app.delete(
    "/counts/:policy",
    forClient(async (c, client, policy) => {
      const before = await look(c, client);
      if (!before) return unavailable(AWAY);
      const shown = shownClient(client.applied);
      const entry = { by: c.get("by"), call: `DELETE /counts/${policy.name}`, client: shown, before };
      await audited(entry, () => limiter.resetClient(client.applied, client.region));
      audit({ ...entry, after: [] });
      return answer(shown);
    }),
  );
}
