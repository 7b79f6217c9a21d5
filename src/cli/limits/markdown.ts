// The limits as Markdown, from the same document as the page and the JSON.

import {
  describeRegion,
  FIELDS,
  isRegional,
  type LimitsDocument,
  planTable,
  sentencesOn,
  together,
} from "../../operate/limits-page/document.ts";

export function limitsMarkdown(document: LimitsDocument): string {
  const { central, regions, headers } = document;
  const policies = regions[0]!.policies;
  const regional = isRegional(document);
  const names = regional ? regions.map(({ name }) => describeRegion(name)) : ["Quota"];
  const limits = policies.flatMap(({ requests, countedPer, limits }) =>
    limits.map(({ id, scope, description, algorithm, promise }) => {
      const perRegion = names.map(() =>
        scope === "region" || !regional || !central ? description : `${description} ${together(names)}`,
      );
      return [`**${id}**`, code(requests), prose(countedPer), ...perRegion, `${algorithm}: ${promise}`];
    }),
  );
  const plans = planTable(document);
  const costs = policies.flatMap(({ name, cost }) =>
    cost.map((rule) => [code(rule.requests), name, String(rule.cost)]),
  );
  const fields = FIELDS.filter(([, field]) => field in headers).map(
    ([part, , meaning]) => `- ${code(part)}: ${meaning}`,
  );
  const kept = central
    ? policies.map(
        ({ name, consistency, storeFailure }) =>
          `- **${name}**: ${consistency.meaning}. When the central store is down, ${storeFailure.meaning}.`,
      )
    : policies.slice(0, 1).map(({ consistency }) => `${consistency.meaning}.`);
  return [
    "# Rate limits",
    "Every limit that matches a request applies. A refused request costs nothing.",
    "## Limits",
    limits.length > 0
      ? table(["Limit", "Requests", "Counted per", ...names, "Promise"], limits)
      : "No limits are published.",
    ...(plans
      ? [
          "## Plans",
          "The same limits for clients on a plan.",
          table(
            ["Limit", ...plans.columns],
            plans.rows.map(({ id, cells }) => [`**${id}**`, ...cells]),
          ),
        ]
      : []),
    ...(policies.length > 0 ? ["## Costs"] : []),
    ...(costs.length > 0
      ? [
          "A request costs 1 unit, except for those listed here; the first that matches counts.",
          table(["Request", "Under", "Units"], costs),
        ]
      : policies
          .filter(({ defaultCost }) => defaultCost)
          .slice(0, 1)
          .map(() => "A request costs 1 unit.")),
    ...sentencesOn("costs", document).map(({ name, sentence }) => `Under **${name}** ${prose(sentence)}.`),
    ...sentencesOn("next", document).map(
      ({ name, sentence }) => `If **${name}** refuses a request, ${prose(sentence)}.`,
    ),
    ...(fields.length > 0
      ? [
          "## Response headers",
          ["```http", ...Object.entries(headers).map((field) => field.join(": ")), "```"].join("\n"),
          fields.join("\n"),
        ]
      : []),
    "## When you are refused",
    'You get 429 with `Retry-After`: after that many seconds the same request, sent alone, succeeds. Add a little random time, so that clients do not all come back at once. With `"retry":"never"` the request costs more than a limit allows, and can never succeed.',
    ...sentencesOn("whenRefused", document).map(({ name, sentence }) => `Under **${name}** ${prose(sentence)}.`),
    ...(kept.length > 0 ? ["## How counts are kept", kept.join("\n")] : []),
  ]
    .join("\n\n")
    .concat("\n");
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings.map(cell), headings.map(() => "---"), ...rows.map((row) => row.map(cell))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Escapes bars: a bar ends a table cell, even inside of code. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

/** Escapes markup: names of headers and queries can hold any character. */
function prose(text: string): string {
  return text.replace(/[\\`*_<>&[\]]/g, "\\$&");
}

/** As code, so that nothing is markup. The fence has more backticks than the text has in a row. */
function code(text: string): string {
  const fence = "`".repeat(1 + Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  return fence.length > 1 ? `${fence} ${text} ${fence}` : `${fence}${text}${fence}`;
}
