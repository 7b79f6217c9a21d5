/** Which models have answered under a policy with a meter, their tokens, and what they have cost. */

import { toWritten } from "../../../src/kernel/core/units.ts";
import type { PolicyAnswer } from "../api.ts";
import { modelsIn } from "../data/sums.ts";
import type { View } from "../data/view.ts";
import { amountOfMany, count, NONE } from "../parts/numbers.ts";
import { spentWord } from "../parts/words.ts";

const MOST_ROWS = 12;
/** Words of the gateway in place of a name. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["other", "other models"],
  ["unnamed", "not named by the answer"],
]);

/** Nothing for a policy without a meter. */
export function Models({ policy: { name, meter }, view }: { policy: PolicyAnswer; view: View }) {
  if (!meter) return null;
  const { stats, span } = view.chart;
  const rows = modelsIn(stats, span, name, MOST_ROWS);
  const spent = (units: number) => amountOfMany(toWritten(units, meter.unit), meter.unit);
  const word = spentWord(meter.unit);
  return (
    <table class="models">
      <caption>Tokens of answers that {name} has paid for, over the time of the chart, in all regions</caption>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col" class="number">
            Input
          </th>
          <th scope="col" class="number">
            Output
          </th>
          <th scope="col" class="number">
            {word}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ model, input, output, units }) => (
          <tr key={model}>
            <th scope="row">{WORDS.has(model) ? <span class="muted">{WORDS.get(model)}</span> : model}</th>
            <td class="number" data-of="Input">
              {input + output > 0 ? count(input) : NONE}
            </td>
            <td class="number" data-of="Output">
              {input + output > 0 ? count(output) : NONE}
            </td>
            <td class="number" data-of={word}>
              {spent(units)}
            </td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <td colSpan={4}>
            {rows.length === 0
              ? "No answer was settled in this time."
              : `Together ${spent(rows.reduce((sum, { units }) => sum + units, 0))}. Requests that still run are not in it.`}
          </td>
        </tr>
      </tfoot>
    </table>
  );
}
