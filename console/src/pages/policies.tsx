/** All policies: what each counts, its limits in force, and what they refuse, beside what is only tried. */

import type { PolicyAnswer } from "../api.ts";
import { policies } from "../data/live.ts";
import { refusals, sum } from "../data/sums.ts";
import { useValue } from "../data/value.ts";
import { useView, type View } from "../data/view.ts";
import { Match } from "../parts/match.tsx";
import { Loading } from "../parts/notice.tsx";
import { percent } from "../parts/numbers.ts";
import { keyText, limitText } from "../parts/words.ts";
import { hrefOf } from "../route.ts";

export function Policies() {
  const known = useValue(policies);
  const view = useView();
  if (!known) return <Loading />;
  return (
    <>
      <h1>Policies</h1>
      <table>
        <caption>As they are in force. Every policy that matches a request applies to it.</caption>
        <thead>
          <tr>
            <th scope="col">Policy</th>
            <th scope="col">Matches</th>
            <th scope="col">Counts by</th>
            <th scope="col">Limits</th>
            {view && <th scope="col">Refused, {view.numbers.text}</th>}
            <th scope="col">Mode</th>
          </tr>
        </thead>
        <tbody>
          {known.policies.map((policy) => {
            const { name, key, limits, mode, live, meter } = policy;
            return (
              <tr key={name}>
                <th scope="row">
                  <a href={hrefOf("policies", name)}>{name}</a>
                </th>
                <td data-of="Matches">
                  <Match policy={policy} all={known.policies} />
                </td>
                <td data-of="Counts by">{keyText(key)}</td>
                <td data-of="Limits">
                  {limits.map((limit) => (
                    <span key={limit.id} class="line">
                      {limitText(limit, meter?.unit)}
                      {live?.limits?.[limit.id] !== undefined && <small class="tag">changed live</small>}
                    </span>
                  ))}
                </td>
                {view && (
                  <td data-of="Refused">
                    <Refuse policy={policy} view={view} />
                  </td>
                )}
                <td data-of="Mode">
                  <span class={mode === "shadow" ? "would" : ""}>{mode}</span>
                  {live?.mode && <small class="tag">changed live</small>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

function Refuse({ policy, view }: { policy: PolicyAnswer; view: View }) {
  const sums = sum(view.numbers.points.filter((point) => point.policy === policy.name));
  if (policy.mode === "shadow") {
    return <span class="line would">would refuse {percent(sums.shadow_refused, sums.all)}</span>;
  }
  return <span class="line">{percent(refusals(sums), sums.all)}</span>;
}
