// The limits as Markdown, from the same document as the page and the JSON.

import {
  COSTS,
  contactLink,
  curlCommands,
  describeRegion,
  FIELDS,
  INTRODUCTION,
  isRegional,
  type LimitsDocument,
  operatorSentences,
  paragraphsOf,
  planTable,
  sentencesOn,
  together,
  whenRefused,
} from "../../operate/limits-page/document.ts";

export function limitsMarkdown(document: LimitsDocument): string {
  const { central, regions, headers, title, contact, before, after, operators } = document;
  const [once, waiting] = curlCommands(document);
  const policies = regions[0]!.policies;
  const regional = isRegional(document);
  const names = regional ? regions.map(({ name }) => describeRegion(name)) : ["Quota"];
  const limits = policies.flatMap(({ requests, countedPer, limits }) =>
    limits.map(({ id, scope, description, promise }) => {
      const perRegion = names.map(() =>
        scope === "region" || !regional || !central ? description : `${description} ${together(names)}`,
      );
      return [`**${id}**`, code(requests), prose(countedPer), ...perRegion, promise];
    }),
  );
  const plans = planTable(document);
  const costWords = sentencesOn("costs", document);
  const costs = policies.flatMap(({ name, cost }) =>
    cost.map((rule) => [code(rule.requests), name, String(rule.cost)]),
  );
  const fields = FIELDS.filter(([, field]) => field in headers).map(
    ([part, , meaning]) => `- ${code(part)}: ${meaning}`,
  );
  const known = operators?.map((policy) => `- **${policy.name}**: ${operatorSentences(policy).join(" ")}`) ?? [];
  return [
    `# ${title === undefined ? "" : `${prose(title)}: `}Rate limits`,
    ...paragraphsOf(before).map(prose),
    INTRODUCTION,
    ...(contact === undefined ? [] : [`Questions? Ask [${prose(contact)}](<${contactLink(contact)}>).`]),
    "## Limits",
    limits.length > 0
      ? table(["Limit", "Requests", "Counted per", ...names, "How it comes back"], limits)
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
    ...(costs.length + costWords.length > 0 ? ["## Costs"] : []),
    ...(costs.length > 0 ? [COSTS, table(["Request", "Under", "Units"], costs)] : []),
    ...costWords.map(({ name, sentence }) => `Under **${name}** ${prose(sentence)}.`),
    ...sentencesOn("next", document).map(
      ({ name, sentence }) => `If **${name}** refuses a request, ${prose(sentence)}.`,
    ),
    ...(fields.length > 0
      ? [
          "## Response headers",
          `After ${code(once)}:`,
          ["```http", ...Object.entries(headers).map((field) => field.join(": ")), "```"].join("\n"),
          fields.join("\n"),
        ]
      : []),
    "## When you are refused",
    whenRefused(document),
    ...sentencesOn("whenRefused", document).map(({ name, sentence }) => `Under **${name}** ${prose(sentence)}.`),
    ...(policies.length > 0 ? [`curl waits as long as \`Retry-After\` says: ${code(waiting)}`] : []),
    ...paragraphsOf(after).map(prose),
    ...(known.length > 0
      ? ["## For operators", "This part helps clients to get around your limits. Don't publish it.", known.join("\n")]
      : []),
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

/** Escapes markup: names of headers and queries, and the operator's own words, can hold any character. */
function prose(text: string): string {
  const oneLine = text.replace(/\s+/g, " ").replace(/[\\`*_~<>&[\]]/g, "\\$&");
  // At the beginning of a line these are a heading or a list.
  return oneLine.replace(/^(\d*)(?=[#+=.)-])/, "$1\\");
}

/** As code, so that nothing is markup. The fence has more backticks than the text has in a row. */
function code(text: string): string {
  const fence = "`".repeat(1 + Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  return fence.length > 1 ? `${fence} ${text} ${fence}` : `${fence}${text}${fence}`;
}
