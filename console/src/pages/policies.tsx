/** All policies: what each counts, and its limits in force. */

import { policies } from "../data/live.ts";
import { useValue } from "../data/value.ts";
import { Loading } from "../parts/notice.tsx";
import { keyText, limitText, matchText } from "../parts/words.ts";
import { hrefOf } from "../route.ts";

export function Policies() {
  const known = useValue(policies);
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
            <th scope="col">Mode</th>
          </tr>
        </thead>
        <tbody>
          {known.policies.map(({ name, match, key, limits, mode, live }) => (
            <tr key={name}>
              <th scope="row">
                <a href={hrefOf("policies", name)}>{name}</a>
              </th>
              <td data-of="Matches">
                <code>{matchText(match)}</code>
              </td>
              <td data-of="Counts by">{keyText(key)}</td>
              <td data-of="Limits">
                {limits.map((limit) => (
                  <span key={limit.id} class="line">
                    {limitText(limit)}
                    {live?.limits?.[limit.id] !== undefined && <small class="tag">changed live</small>}
                  </span>
                ))}
              </td>
              <td data-of="Mode">
                <span class={mode === "shadow" ? "would" : ""}>{mode}</span>
                {live?.mode && <small class="tag">changed live</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
