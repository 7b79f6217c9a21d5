/** All policies: what each counts, its limits in force, and what they refuse, beside what is only tried. */

import type { PolicyAnswer } from "../api.ts";
import { policies } from "../data/live.ts";
import { refusals, sum } from "../data/sums.ts";
import { useValue } from "../data/value.ts";
import { useView, type View } from "../data/view.ts";
import { Match } from "../parts/match.tsx";
import { Loading } from "../parts/notice.tsx";
import { percent } from "../parts/numbers.ts";
import { type Column, Table } from "../parts/table.tsx";
import { keyText, limitText } from "../parts/words.ts";
import { hrefOf } from "../route.ts";

export function Policies() {
  const known = useValue(policies);
  const view = useView();
  if (!known) return <Loading />;
  return (
    <>
      <h1>Policies</h1>
      <Table
        caption="As they are in force. Every policy that matches a request applies to it."
        rows={known.policies}
        keyOf={({ name }) => name}
        columns={[
          { heading: "Policy", cell: ({ name }) => <a href={hrefOf("policies", name)}>{name}</a> },
          { heading: "Matches", cell: (policy) => <Match policy={policy} all={known.policies} /> },
          { heading: "Counts by", cell: ({ key }) => keyText(key) },
          {
            heading: "Limits",
            cell: ({ limits, live, meter }) =>
              limits.map((limit) => (
                <span key={limit.id} class="line">
                  {limitText(limit, meter?.unit)}
                  {live?.limits?.[limit.id] !== undefined && <small class="tag">changed live</small>}
                </span>
              )),
          },
          ...(view ? [refused(view)] : []),
          {
            heading: "Mode",
            cell: ({ mode, live }) => (
              <>
                <span class={mode === "shadow" ? "would" : ""}>{mode}</span>
                {live?.mode && <small class="tag">changed live</small>}
              </>
            ),
          },
        ]}
      />
    </>
  );
}

function refused({ numbers }: View): Column<PolicyAnswer> {
  return {
    heading: `Refused, ${numbers.text}`,
    short: "Refused",
    cell({ name, mode }) {
      const sums = sum(numbers.points.filter(({ policy }) => policy === name));
      if (mode !== "shadow") return <span class="line">{percent(refusals(sums), sums.all)}</span>;
      return <span class="line would">would refuse {percent(sums.shadow_refused, sums.all)}</span>;
    },
  };
}
