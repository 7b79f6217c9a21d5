/** In which order features stand around requests and around decisions, with the reasons. */

import type { Feature } from "../kernel/http/feature.ts";
import type { PartOf } from "../kernel/limiter/part.ts";

/** On the way of a request, from the outermost to the innermost. */
export const ORDER: readonly string[] = [
  // The program hears of every decision, and has the last word about every answer.
  "answers",
  // What the program is shown names the ban.
  "ban",
  // A policy's own words come before an error of JSON-RPC, and that before an error of a provider.
  "refusal",
  // It looks at what is charged, not at what is asked again.
  "countedTwice",
  // The meter prices the overflows too.
  "overflow",
  // A body that stops on its way: `count` must not see the answer to that as the status of the request.
  "meter",
  // Before the slots: the status is known before the body has ended, and what does not count goes back first.
  "count",
  // Outside of all that makes the outgoing request: it changes when that is aborted. It does not see bodies.
  "statedCost",
  // Inside of the meter, of `count` and of `statedCost`, which say what is reserved.
  "reserve",
  // A request that waits has its slot already, and keeps it.
  "slots",
  "delay",
  // Before it is read, a body is asked for what is known without it: by all that follows, and not by the meter.
  "body",
  // They leave out policies by what the body says: nobody is asked about those. Costs of calls are added up last.
  "bodyValues",
  "rpc",
  // Of the policies that are left, one may refuse what nobody can meter.
  "unmetered",
  "providerErrors",
  // A preflight has no body.
  "preflight",
  // Its claims are keys, plans and ids.
  "identity",
  "once",
  // A program's own plan comes before the one that the request names.
  "plans",
  "asks",
  // A key may have claims, too. Whom the program names, nobody looks for in the body.
  "bodyKeys",
  // The last to touch what goes on.
  "payer",
  // What the origin answered, and the refusal that the client gets.
  "counting",
];

/** Around the decisions of a limiter, from the innermost to the outermost. */
const PARTS: readonly string[] = [
  "slots",
  "fold",
  "once",
  // Of a policy with both a meter says what is reserved.
  "meter",
  "ban",
  // It shortens the waits of each policy of a chain that has refused, but not that of a ban.
  "count",
  // Each of its attempts has slots of its own.
  "overflow",
];

export function partsInOrder(parts: readonly PartOf[]): readonly PartOf[] {
  return parts.toSorted((a, b) => PARTS.indexOf(a.name) - PARTS.indexOf(b.name));
}

/** Of two with one name the one that was given first stands first. */
export function inOrder(features: readonly Feature[]): readonly Feature[] {
  return features.toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
}
