/** Warnings about meters: what is allowed and surely not meant. */

import type { Meter, Policy, Price } from "../../core/policy.ts";

/** How the paths of the known formats end. A request to another path is estimated by its length. */
const ENDINGS = ["/chat/completions", "/responses", "/embeddings", "/messages"];
/** Dollars per million tokens. The cheapest models of 2026 cost ten times as much. */
const TOO_CHEAP = 0.001;

export function meterWarnings(policies: readonly Policy[]): string[] {
  return policies.flatMap(({ name, match, meter }) => {
    if (!meter) return [];
    const { method, path } = match;
    return [
      ...(method && !method.includes("POST")
        ? [`policy ${name} has a meter and does not match POST: no request is charged`]
        : []),
      ...(path && !path.some(canEnd)
        ? [`policy ${name} has a meter, and none of its paths ends with ${ENDINGS.join(", ")}: estimates are coarse`]
        : []),
      ...priceWarnings(name, meter),
    ];
  });
}

/** Whether some path that matches ends like a known format: what stands after the last wildcard is compared. */
function canEnd(pattern: string): boolean {
  const text = /[^*+?(){}:\\]*$/.exec(pattern)![0].toLowerCase().replace(/\/$/, "");
  // What follows a colon is a name, and the text begins after it.
  const tail = pattern.at(-text.length - 1) === ":" ? text.replace(/^\w+/, "") : text;
  return ENDINGS.some((ending) => ending.endsWith(tail) || tail.endsWith(ending));
}

function priceWarnings(name: string, { prices = {} }: Meter): string[] {
  return Object.entries(prices).flatMap(([model, price]) => {
    const subject = `policy ${name}: the prices of ${model}`;
    const most = Math.max(price.input, price.output);
    if (most === 0) return model === "default" ? [`${subject} are 0: an unknown model costs nothing`] : [];
    if (most < TOO_CHEAP) return [`${subject} are very low: they are dollars per million tokens, not per token`];
    return isSwapped(price) ? [`${subject} have cached input that costs more than other input`] : [];
  });
}

function isSwapped({ input, cachedInput = input }: Price): boolean {
  return cachedInput > input;
}
