/** Which models have answered under a policy with a meter, their tokens, and what they have cost. */

import { toWritten } from "../../../src/kernel/core/units.ts";
import type { PolicyAnswer } from "../api.ts";
import { modelsIn } from "../data/sums.ts";
import type { View } from "../data/view.ts";
import { amountOfMany, count, NONE } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
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
  return (
    <Table
      class="models"
      caption={`Tokens of answers that ${name} has paid for, over the time of the chart, in all regions`}
      rows={rows}
      keyOf={({ model }) => model}
      columns={[
        {
          heading: "Model",
          cell: ({ model }) => (WORDS.has(model) ? <span class="muted">{WORDS.get(model)}</span> : model),
        },
        { heading: "Input", is: "number", cell: ({ input, output }) => (input + output > 0 ? count(input) : NONE) },
        { heading: "Output", is: "number", cell: ({ input, output }) => (input + output > 0 ? count(output) : NONE) },
        { heading: spentWord(meter.unit), is: "number", cell: ({ units }) => spent(units) },
      ]}
      foot={
        rows.length === 0
          ? "No answer was settled in this time."
          : `Together ${spent(rows.reduce((sum, { units }) => sum + units, 0))}. Requests that still run are not in it.`
      }
    />
  );
}
