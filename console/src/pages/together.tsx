/** What is left of the limits under which everybody counts as one client, such as a pool of dollars. */

import { useEffect, useState } from "preact/hooks";
import { api, type CountsAnswer, type PolicyAnswer } from "../api.ts";
import type { View } from "../data/view.ts";
import { Failed } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { LimitBars } from "./client-card.tsx";
import { rateOf } from "./spent.tsx";

const GLOBAL = "global";

/** Nothing for a policy that tells clients apart. It looks when it is opened, and once a minute with the policies. */
export function Together({ policy, view }: { policy: PolicyAnswer; view: View | undefined }) {
  const [found, setFound] = useState<CountsAnswer | { readonly error: unknown }>();
  const [atMs, setAtMs] = useState(0);
  const [turn, setTurn] = useState(0);
  const { name, key } = policy;
  const isOne = key.length === 1 && key[0] === GLOBAL;

  useEffect(() => {
    if (!isOne) return;
    let isWanted = true;
    const look = api.counts({ policy: name, kind: GLOBAL, raw: [] }).catch((error: unknown) => ({ error }));
    void look.then((counts) => {
      if (!isWanted) return;
      setFound(counts);
      setAtMs(Date.now());
    });
    return () => {
      isWanted = false;
    };
  }, [policy, turn]);

  if (!isOne || !found) return null;
  return (
    <section class="card" aria-label="Everybody together">
      <h2>Everybody together</h2>
      {"error" in found ? (
        <Failed error={found.error} />
      ) : (
        <LimitBars limits={found.limits} policy={policy} rate={rateOf(policy, view)} />
      )}
      <p class="note">
        Looked up at <Time ms={atMs} exact />.{" "}
        <button type="button" class="small" onClick={() => setTurn(turn + 1)}>
          Refresh
        </button>
      </p>
    </section>
  );
}
