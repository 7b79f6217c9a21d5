/** Who has paid for the requests of a policy, and for whose requests an overflow has paid. */

import { toWritten } from "../../../src/core/units.ts";
import type { Policy } from "../api.ts";
import { paymentsIn } from "../data/sums.ts";
import type { View } from "../data/view.ts";
import { amountOfMany, count, percent } from "../parts/numbers.ts";
import { headsOf, spentWord } from "../parts/words.ts";
import { hrefOf } from "../route.ts";

/** Nothing for a policy that is in no chain. */
export function Paid({ policy, all, view }: { policy: Policy; all: readonly Policy[]; view: View }) {
  const { name, meter } = policy;
  const isOverflow = headsOf(policy, all).length > 0;
  if (!isOverflow && !policy.overflow) return null;
  const { stats, span } = view.chart;
  const rows = paymentsIn(stats, span, meter !== undefined)
    .filter((one) => (isOverflow ? one.paidBy : one.policy) === name)
    .sort((a, b) => b.requests - a.requests);
  const requests = rows.reduce((sum, one) => sum + one.requests, 0);
  const other = isOverflow ? "For requests of" : "Paid by";
  return (
    <table class="paid">
      <caption>
        {isOverflow ? `For whom ${name} has paid` : `Who has paid for requests of ${name}`}, over the time of the chart,
        in all regions
      </caption>
      <thead>
        <tr>
          <th scope="col">{other}</th>
          <th scope="col" class="number">
            Requests
          </th>
          <th scope="col" class="number">
            Share
          </th>
          <th scope="col" class="number">
            {spentWord(meter?.unit)}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((one) => {
          const shown = isOverflow ? one.policy : one.paidBy;
          return (
            <tr key={shown}>
              <th scope="row">{shown === name ? `${name} itself` : <a href={hrefOf("policies", shown)}>{shown}</a>}</th>
              <td class="number" data-of="Requests">
                {count(one.requests)}
              </td>
              <td class="number" data-of="Share">
                {percent(one.requests, requests)}
              </td>
              <td class="number" data-of={spentWord(meter?.unit)}>
                {amountOfMany(toWritten(one.units, meter?.unit), meter?.unit)}
              </td>
            </tr>
          );
        })}
      </tbody>
      {rows.length === 0 && (
        <tfoot>
          <tr>
            <td colSpan={4}>
              {isOverflow ? "It has paid for no request in this time." : "No request was paid for in this time."}
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}
